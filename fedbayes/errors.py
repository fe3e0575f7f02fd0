"""The errors that a user of the package can cause, each with one line that says what to do."""


class FedbayesError(Exception):
    """Base of all errors that are shown without a traceback."""


class ConfigurationError(FedbayesError):
    """A key or value of the configuration is wrong; nothing has been run."""


class DataError(FedbayesError):
    """A data file or data set is malformed or does not hold what its description promises."""


class DataUnavailable(DataError):
    """A data set cannot be had here (offline, file missing); the message names the remedy."""
