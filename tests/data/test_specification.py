import pytest
from omegaconf import OmegaConf

from fedbayes.config import conf_directory
from fedbayes.data import available, load_specification
from fedbayes.data.specification import DatasetSpecification
from fedbayes.errors import ConfigurationError

PAPER = {  # Table 1: instances, attributes, classes, OpenML id
    "vote": (435, 16, 2, 56),
    "soybean": (683, 35, 19, 42),
    "tic-tac-toe": (958, 9, 2, 50),
    "flare": (1066, 11, 6, 46174),
    "car": (1728, 6, 4, 991),
    "splice": (3190, 60, 3, 46),
    "kr-vs-kp": (3196, 36, 2, 3),
    "mushroom": (8124, 22, 2, 24),
    "phishing": (11055, 30, 2, 4534),
    "nursery": (12960, 8, 5, 1568),
    "kr-vs-k": (28056, 6, 18, 46173),
    "connect-4": (67557, 42, 3, 40668),
}


@pytest.mark.parametrize("name", PAPER)
def test_the_twelve_of_the_paper(name):
    specification = load_specification(name)
    found = (specification.rows, specification.attributes, specification.classes, specification.openml_id)
    assert found == PAPER[name]
    assert specification.position == list(PAPER).index(name) + 1
    assert specification.title and specification.why.endswith(".") and specification.kind == "categorical"


def test_every_description_of_the_package_is_keyed_by_its_name():
    assert set(PAPER) <= set(available())
    for name in available():
        mapping = OmegaConf.to_container(OmegaConf.load(conf_directory() / "dataset" / f"{name}.yaml"))
        assert list(mapping) == [name]
        assert load_specification(mapping) == DatasetSpecification.from_mapping(name, mapping[name])


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("cra", "did you mean car"),
        ("Car", "did you mean car"),
        ("kr_vs_kp", "kr-vs-kp"),
        ("mushrooms", "did you mean mushroom"),
        ("xyzzy", "known are "),
        ("", "known are "),
        ("..", "unknown data set"),
    ],
)
def test_unknown_names(name, hint):
    with pytest.raises(ConfigurationError) as error:
        load_specification(name)
    assert f"unknown data set '{name}'" in str(error.value) and hint in str(error.value)


@pytest.fixture
def yaml(tmp_path):
    def load(text, name="mine.yaml"):
        path = tmp_path / name
        path.write_text(text)
        return load_specification(path)

    return load


def test_a_file_of_ones_own(yaml, tmp_path):
    specification = yaml("mine:\n  file: data/mine.csv\n  target: label\n  ignore: [id]\n")
    assert specification.name == specification.title == "mine"
    assert specification.ignore == ("id",) and specification.folder == tmp_path
    assert load_specification(str(tmp_path / "mine.yaml")) == specification


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected one top-level key"),
        ("target: c\n", "expected one top-level key"),
        ("- a\n", "expected one top-level key"),
        ("name: mine\ntarget: c\n", "expected one top-level key"),
        ("other:\n  target: c\n", "the key 'other' must be the file's name, 'mine'"),
        ("mine:\n  name: other\n  target: c\n", "name 'other' must be the key above it, 'mine'"),
        ("mine:\n  target: c\n  filee: x\n", "unknown field 'filee'; did you mean 'file'?"),
        ("mine:\n  target: c\n  colour: x\n", "unknown field 'colour'; known are name"),
        ("mine:\n  file: x.csv\n", "target is missing"),
        ("mine:\n  target: no\n", "target is False; expected text"),
        ("mine:\n  target: 5\n", "target is 5; expected text"),
        ("mine:\n  target: c\n  rows: many\n", "rows is 'many'; expected a whole number above 0"),
        ("mine:\n  target: c\n  rows: 0\n", "rows is 0; expected a whole number above 0"),
        ("mine:\n  target: c\n  classes: true\n", "classes is True; expected a whole number above 0"),
        ("mine:\n  target: c\n  openml_id: 1.5\n", "openml_id is 1.5"),
        ("mine:\n  target: c\n  kind: numeric\n", "kind is 'numeric'; allowed are categorical and mixed"),
        ("mine:\n  target: c\n  missing: drop\n", "missing is 'drop'; allowed are category and mode"),
        ("mine:\n  target: c\n  drop_duplicates: maybe\n", "drop_duplicates is 'maybe'"),
        ("mine:\n  target: c\n  ignore: [1]\n", "ignore is [1]; expected a list of texts"),
        ("mine:\n  target: c\n  loader: nsl-kdd\n", "loader is for data sets of kind mixed"),
        ("mine:\n  kind: mixed\n", "a mixed data set needs the field loader"),
        ("mine:\n  target: c\n  options: x\n", "options is 'x'; expected a mapping"),
        ("mine:\n  target: [c\n", "line 3: not valid YAML"),
        ("mine: \x01\n", "not valid YAML (special characters are not allowed)"),
        ("mine:\n  target: c\n  target: d\n", "line 3: not valid YAML (found duplicate key target)"),
        ("mine:\n  target: ${nothing}\n", "cannot be read"),
    ],
)
def test_mistakes_name_file_and_field(yaml, text, message):
    with pytest.raises(ConfigurationError) as error:
        yaml(text)
    assert message in str(error.value) and "mine.yaml" in str(error.value)
    assert "\n" not in str(error.value)


def test_names_are_safe_for_files_and_tables():
    for name in ("a/b", "a b", "", ".", "-a", 'a"b'):
        with pytest.raises(ConfigurationError, match="name is"):
            load_specification({"name": name, "target": "c", "file": "x.csv"})


def test_a_missing_description(tmp_path):
    with pytest.raises(ConfigurationError, match="no such data set description"):
        load_specification(tmp_path / "none.yaml")


def test_a_composed_configuration():
    config = OmegaConf.create({"dataset": {"mine": {"target": "c", "file": "${name}.csv"}}, "name": "x"})
    specification = load_specification(
        {"mine": OmegaConf.to_container(config, resolve=True)["dataset"]["mine"]}
    )
    assert specification.file == "x.csv"
    assert load_specification(config.dataset) == specification


def test_counts_may_be_written_as_whole_floats(yaml):
    found = yaml("mine:\n  target: c\n  rows: 1.0e3\n  openml_alternatives: [7.0]\n")
    assert (found.rows, found.openml_alternatives) == (1000, (7,))
    assert type(found.rows) is int
