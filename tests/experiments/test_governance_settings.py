import pytest

from fedbayes.errors import ConfigurationError
from fedbayes.experiments.governance_settings import ALPHAS, GovernanceSettings


def test_defaults_are_the_papers():
    settings = GovernanceSettings()
    assert settings.differences() == ()
    assert settings.text() == ""
    assert (settings.penalty, settings.floor, settings.validation_rows) == (0.1, 0.05, 2000)
    assert GovernanceSettings.from_mapping({"penalty": 0.1, "levels": list(ALPHAS)}) == settings


def test_differences_are_alphabetical_plain_values():
    settings = GovernanceSettings(
        validation_rows=500,
        penalty=0,
        adaptive_penalty=True,
        nodes=[
            {"name": "Bank A", "cmm": 4, "kci": 0.8, "kri": 0.1234567, "cvss": 3},
            {"name": "Shop", "cmm": 1.5, "kci": 0.5, "kri": 0.2, "cvss": 6},
        ],
    )
    assert settings.text() == (
        "adaptive_penalty=true;nodes=Bank A/4/0.8/0.1234567/3|Shop/1.5/0.5/0.2/6;penalty=0.0;validation_rows=500"
    )
    assert [name for name, _ in settings.differences()] == sorted(name for name, _ in settings.differences())


def test_levels_matter_only_with_the_adaptive_penalty():
    assert GovernanceSettings(levels=(0.1, 1)).text() == ""
    assert (
        GovernanceSettings(levels=(0.1, 1), adaptive_penalty=True).text()
        == "adaptive_penalty=true;levels=0.1|1.0"
    )


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("penalty", -0.1, ">= 0"),
        ("penalty", float("inf"), "finite"),
        ("penalty", "strong", "number"),
        ("penalty", 10**320, "finite number"),
        ("penalty", None, "finite number"),
        ("floor", 0.4, "below 1/3"),
        ("floor", float("nan"), "finite"),
        pytest.param("floor", 10**5000, "finite", id="floor of 5000 digits"),
        ("smoothing", 0, "> 0"),
        ("smoothing", -(10**320), "> 0"),
        ("var_smoothing", 0.0, "> 0"),
        ("var_smoothing", 1e308, "<= 1e+12"),
        ("smoothing", 1e308, "<= 1e+12"),
        ("validation_rows", 0, ">= 1"),
        ("validation_rows", 10.5, "whole number"),
        ("validation_rows", None, "whole number"),
        ("redraw_min_rows", -1, ">= 0"),
        ("redraw_min_rows", 10**320, "<= 2147483647"),
        ("random_starts", True, "whole number"),
        ("max_iterations", 0, ">= 1"),
        ("max_iterations", 1e300, "<= 2147483647"),
        ("projection", "soft", "floor, strict"),
        ("projection", None, "floor, strict"),
        ("target", "uniform", "normalised, projected"),
        ("jsd", "js", "mean_pairwise"),
        ("mcnemar", "chi2", "yates, exact, mid-p"),
        ("adaptive_penalty", 1, "true, false"),
        ("levels", [], "at least one"),
        ("levels", [0.1, -1], "> 0"),
        ("levels", [0.1, 10**320], "finite number"),
        ("nodes", None, "list of node profiles"),
        ("nodes", [], "at least 2"),
    ],
)
def test_wrong_values_are_named(name, value, allowed):
    with pytest.raises(ConfigurationError) as caught:
        GovernanceSettings(**{name: value})
    assert str(caught.value).startswith(name)
    assert allowed in str(caught.value)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300


def test_whole_numbers_may_be_written_as_floats_and_zero_with_a_sign():
    settings = GovernanceSettings(redraw_min_rows=1e6, validation_rows=500.0, penalty=-0.0, floor=-0.0)
    assert settings == GovernanceSettings(redraw_min_rows=10**6, validation_rows=500, penalty=0, floor=0)
    assert settings.text() == "floor=0.0;penalty=0.0;redraw_min_rows=1000000;validation_rows=500"


def test_an_indicator_of_320_digits():
    with pytest.raises(ConfigurationError, match=r"cmm=1000.* a number from 1 to 5 is needed") as caught:
        GovernanceSettings(nodes=[{"name": "a", "cmm": 10**320, "kci": 1, "kri": 0, "cvss": 0}])
    assert len(str(caught.value)) < 300


def test_unknown_setting_is_named():
    with pytest.raises(ConfigurationError, match="lambda: unknown setting"):
        GovernanceSettings.from_mapping({"lambda": 1})
