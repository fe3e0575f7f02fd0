"""Checks of configuration values."""

import math

import pytest

from fedbayes import config
from fedbayes.config import RunOptions
from fedbayes.errors import ConfigurationError

OPTIONS = {"name": "fedande", "execution": {"name": "local"}}


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "two", None, math.nan])
def test_integer_refuses_and_names_key_value_and_allowed(value):
    with pytest.raises(ConfigurationError, match=r"clients=.* is not allowed: a whole number >= 1"):
        config.integer(1)("clients", value)


def test_numbers_too_large_for_a_computer_are_refused():
    with pytest.raises(ConfigurationError, match=r"rounds=9+ is not allowed: .* <= 2147483647"):
        config.integer(1)("rounds", int("9" * 30))
    with pytest.raises(ConfigurationError, match="smoothing="):
        config.real(0)("smoothing", int("9" * 400))


@pytest.mark.parametrize("value", ["", " ", ["a"], {"a": 1}, 5, "a\0b", "a" * 300, "~nobody-of-that-name/x"])
def test_paths_that_are_none(value):
    for key in ("data_dir", "output_dir"):
        with pytest.raises(ConfigurationError, match=f"{key}="):
            RunOptions.from_mapping(OPTIONS | {key: value})


@pytest.mark.parametrize("name", ["", "a/b", "../a", None, 5, ["a"]])
def test_a_name_is_no_path(name):
    with pytest.raises(ConfigurationError, match="name="):
        RunOptions.from_mapping(OPTIONS | {"name": name})


def test_a_deleted_key_is_named():
    config.required({"n": None}, ["n"])
    with pytest.raises(ConfigurationError, match="'n' is missing"):
        config.required({}, ["n"])


def test_integer_takes_a_whole_float():
    taken = config.integer(1)("clients", 5.0)
    assert taken == 5 and type(taken) is int


@pytest.mark.parametrize("value", [10**320, -(10**320), pytest.param(10**5000, id="5000 digits"), "9" * 400])
@pytest.mark.parametrize("check", [config.integer(1), config.real(0), config.real(0, infinite=True)])
def test_the_longest_numbers_give_one_short_line(check, value):
    with pytest.raises(ConfigurationError, match="key=") as caught:
        check("key", value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("value", [0, -1.0, math.nan, "x", True, None])
def test_positive_real_refuses(value):
    with pytest.raises(ConfigurationError, match="epsilon="):
        config.real(0, open_low=True, infinite=True)("epsilon", value)


@pytest.mark.parametrize("value", ["inf", ".inf", math.inf])
def test_infinity_as_typed(value):
    assert config.real(0, open_low=True, infinite=True)("epsilon", value) == math.inf


def test_zero_has_no_sign():
    assert math.copysign(1, config.real(0)("penalty", -0.0)) == 1


def test_infinity_is_refused_where_it_means_nothing():
    with pytest.raises(ConfigurationError, match="finite number > 0"):
        config.real(0, open_low=True)("alpha", "inf")


def test_values_take_one_or_many_and_count_repeated_ones_once():
    assert config.values(config.integer(1), "clients", 5) == (5,)
    assert config.values(config.integer(1), "clients", [5, 20, 5]) == (5, 20)
    with pytest.raises(ConfigurationError, match="at least one value"):
        config.values(config.integer(1), "clients", [])


def test_choice_suggests_the_closest():
    with pytest.raises(ConfigurationError, match="did you mean 'generative'"):
        config.choice("generative", "discriminative")("learner", "generativ")


def test_unknown_key_suggests_the_closest():
    with pytest.raises(ConfigurationError, match="unknown key 'alhpa'.*did you mean 'alpha'"):
        config.check_keys({"alhpa": 1}, ["alpha", "seeds"], "the configuration")


@pytest.mark.parametrize(
    "shard", ["0/4", "5/4", "1", "a/b", "1/0", "-1/2", "1_0/20", "१/४", "1/2/3", "1/2.0", ["1/2"], True, 0.5]
)
def test_shard_out_of_range(shard):
    with pytest.raises(ConfigurationError, match="shard=.*1 <= i <= N"):
        RunOptions.from_mapping(OPTIONS | {"shard": shard})


def test_defaults_of_the_options(tmp_path):
    options = RunOptions.from_mapping(OPTIONS)
    assert str(options.output_dir) == "results/fedande"
    assert options.jobs >= 1
    assert RunOptions.from_mapping(OPTIONS | {"shard": "2/4"}).shard == (2, 4)


@pytest.mark.parametrize(
    ("key", "value"),
    [("jobs", 0), ("on_error", "ignore"), ("rerun", "some"), ("report", "yes"), ("memory_limit", 0)],
)
def test_options_out_of_range(key, value):
    with pytest.raises(ConfigurationError, match=key):
        RunOptions.from_mapping(OPTIONS | {key: value})


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:8786", "tls://node-7.cluster:1", "[::1]:8786", None])
def test_addresses_of_a_scheduler(address):
    options = RunOptions.from_mapping(OPTIONS | {"execution": {"name": "dask", "address": address}})
    assert options.execution.address == address


@pytest.mark.parametrize(
    "address", [5, "", "node", "tcp://node", "tcp://node:port", "http://node/8786", ["a:1"]]
)
def test_addresses_that_are_none(address):
    with pytest.raises(
        ConfigurationError, match=r"execution\.address=.* is not allowed: the tcp://host:port"
    ):
        RunOptions.from_mapping(OPTIONS | {"execution": {"name": "dask", "address": address}})


def test_data_dir_must_exist(tmp_path):
    with pytest.raises(ConfigurationError, match="data_dir"):
        RunOptions.from_mapping(OPTIONS | {"data_dir": str(tmp_path / "nowhere")})


def test_conf_directory_holds_the_configuration():
    assert (config.conf_directory() / "config.yaml").is_file()
