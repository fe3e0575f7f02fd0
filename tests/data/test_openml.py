"""OpenML end to end against a server on the loopback interface that speaks its XML and ARFF endpoints."""

import contextlib
import hashlib
import http.server
import logging
import os
import socket
import threading
import time
from pathlib import Path

import pandas as pd
import pytest

from fedbayes.data import load, load_dataset, load_specification, openml
from fedbayes.errors import DataError, DataUnavailable

package = pytest.importorskip("openml")

ARFF = """@relation toy
@attribute id numeric
@attribute 'bruises%3F' {t,f,'n a'}
@attribute colour {red,blue,green}
@attribute klass {yes,no}
@data
1,t,red,yes
2,f,?,no
3,'n a',blue,no
4,t,red,no
"""
SPECIFICATION = {"toy": {"openml_id": 7, "target": "klass", "rows": 4, "attributes": 2, "classes": 2}}


class Server:
    """Serves one data set; counts requests; can be told to fail."""

    def __init__(self):
        self.requests = []
        self.arff = ARFF
        self.checksum = None
        self.extra = "<oml:row_id_attribute>id</oml:row_id_attribute>"
        self.target = "klass"
        self.broken = False
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.requests.append(self.path)
                status, body = outer.answer(self.path.split("?")[0])
                content = body.encode()
                self.send_response(status)
                self.send_header("Content-Type", "text/xml; charset=utf-8")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *arguments):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.root = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def answer(self, path):
        error = (
            '<oml:error xmlns:oml="http://openml.org/openml"><oml:code>{}</oml:code>'
            "<oml:message>{}</oml:message></oml:error>"
        )
        if self.broken:
            return 412, error.format(999, "out of order")
        if path == "/api/v1/xml/data/7":
            return 200, self.description()
        if path == "/api/v1/xml/data/features/7":
            return 200, FEATURES
        if path == "/files/toy.arff":
            return 200, self.arff
        return 412, error.format(111, "Unknown dataset")

    def description(self):
        checksum = self.checksum or hashlib.md5(self.arff.encode()).hexdigest()
        return f"""<oml:data_set_description xmlns:oml="http://openml.org/openml">
<oml:id>7</oml:id><oml:name>toy</oml:name><oml:version>1</oml:version><oml:description>A toy</oml:description>
<oml:format>ARFF</oml:format><oml:url>{self.root}/files/toy.arff</oml:url>
<oml:parquet_url>{self.root}/bucket/toy.pq</oml:parquet_url>
<oml:file_id>1</oml:file_id><oml:default_target_attribute>{self.target}</oml:default_target_attribute>
{self.extra}<oml:md5_checksum>{checksum}</oml:md5_checksum>
</oml:data_set_description>"""


def feature(index, name, kind, values=()):
    nominal = "".join(f"<oml:nominal_value>{value}</oml:nominal_value>" for value in values)
    return (
        f"<oml:feature><oml:index>{index}</oml:index><oml:name>{name}</oml:name>"
        f"<oml:data_type>{kind}</oml:data_type>{nominal}</oml:feature>"
    )


FEATURES = (
    '<oml:data_features xmlns:oml="http://openml.org/openml">'
    + feature(0, "id", "numeric")
    + feature(1, "bruises%3F", "nominal", ("t", "f", "n a"))
    + feature(2, "colour", "nominal", ("red", "blue", "green"))
    + feature(3, "klass", "nominal", ("yes", "no"))
    + "</oml:data_features>"
)


@pytest.fixture
def server(tmp_path, monkeypatch):
    server = Server()
    configure(tmp_path, monkeypatch, f"{server.root}/api/v1/xml")
    yield server
    server.http.shutdown()
    server.http.server_close()


def configure(tmp_path, monkeypatch, url):
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "FEDBAYES_DATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FEDBAYES_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(package.config, "server", url)
    monkeypatch.setattr(package.config, "_root_cache_directory", tmp_path / "openml")


def unused_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def offline(tmp_path, monkeypatch):
    configure(tmp_path, monkeypatch, f"http://127.0.0.1:{unused_port()}/api/v1/xml")


def users_cache(tmp_path, monkeypatch, server=None):
    """The folder in which the openml package of the user keeps data set 7."""
    folder = Path(package.config.get_cache_directory()) / "datasets" / "7"
    folder.mkdir(parents=True)
    return folder


def toy():
    return load_specification(SPECIFICATION)


def test_a_data_set_from_the_server(server, tmp_path):
    before = (
        package.config.get_config_as_dict(),
        logging.root.handlers[:],
        os.environ.get("OPENML_SKIP_PARQUET"),
    )
    dataset = load(toy())
    assert dataset.source == "openml"
    assert dataset.attribute_names == ("bruises?", "colour")
    assert dataset.categories == (("f", "n a", "t"), ("blue", "green", "red", "?"))
    assert dataset.class_names == ("no", "yes")
    assert dataset.X.tolist() == [[0, 3], [1, 0], [2, 2], [2, 2]] and dataset.y.tolist() == [0, 0, 0, 1]
    assert not any("bucket" in path for path in server.requests)
    assert before == (
        package.config.get_config_as_dict(),
        logging.root.handlers[:],
        os.environ.get("OPENML_SKIP_PARQUET"),
    )
    assert not (tmp_path / "openml").exists()


def test_our_copy_serves_the_next_time_and_without_network(server):
    first = load(toy())
    asked = len(server.requests)
    server.broken = True
    again = load(toy(), offline=True)
    assert len(server.requests) == asked
    assert (again.source, again.fingerprint) == ("openml-cache", first.fingerprint)
    assert load(toy(), missing="mode").cardinalities == (3, 3)


@pytest.mark.parametrize("harm", ["cut", "changed", "empty", "other"])
def test_a_damaged_copy_is_fetched_again(server, tmp_path, harm):
    first = load(toy())
    (copy,) = (tmp_path / "cache").rglob("7.npz")
    content = copy.read_bytes()
    middle = len(content) // 2
    copy.write_bytes(
        {
            "cut": content[:middle],
            "changed": content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :],
            "empty": b"",
            "other": b"{}",
        }[harm]
    )
    again = load(toy())
    assert (again.source, again.fingerprint) == ("openml", first.fingerprint)
    assert copy.read_bytes() == content or load(toy()).source == "openml-cache"


def test_a_cache_folder_that_cannot_be_written(server, tmp_path):
    (tmp_path / "cache").write_text("a file where the folder should be")
    assert load(toy()).source == "openml"


def test_the_copies_of_two_servers_are_kept_apart(server, monkeypatch, tmp_path):
    load(toy())
    monkeypatch.setattr(package.config, "server", f"http://localhost:{unused_port()}/api/v1/xml")
    with pytest.raises(DataUnavailable):
        load(toy(), offline=True)


def test_the_users_openml_cache_is_read_and_left_alone(server, tmp_path, monkeypatch):
    reference = load(toy()).fingerprint
    for copy in (tmp_path / "cache").rglob("7.npz"):
        copy.unlink()
    folder = users_cache(tmp_path, monkeypatch)
    (folder / "description.xml").write_text(server.description())
    (folder / "dataset.arff").write_text(ARFF)
    server.broken = True
    dataset = load(toy(), offline=True)
    assert (dataset.source, dataset.fingerprint) == ("openml-cache", reference)
    assert sorted(path.name for path in folder.iterdir()) == ["dataset.arff", "description.xml"]


def test_the_users_parquet_copy_gets_its_declared_domains(server, tmp_path, monkeypatch):
    reference = load(toy()).fingerprint
    for copy in (tmp_path / "cache").rglob("7.npz"):
        copy.unlink()
    folder = users_cache(tmp_path, monkeypatch)
    frame = pd.DataFrame(
        {
            "id": [1.0, 2.0, 3.0, 4.0],
            "bruises%3F": ["t", "f", "n a", "t"],
            "colour": ["red", None, "blue", "red"],
            "klass": ["yes", "no", "no", "no"],
        }
    )
    frame.to_parquet(folder / "dataset_7.pq")
    (folder / "description.xml").write_text(server.description())
    server.broken = True
    with pytest.raises(DataUnavailable):  # without the features nobody knows that green is a colour
        load(toy(), offline=True)
    (folder / "features.xml").write_text(FEATURES)
    assert load(toy(), offline=True).fingerprint == reference


@pytest.mark.parametrize("harm", ["no arff", "half an arff", "no description", "broken description"])
def test_an_incomplete_openml_cache_is_neither_used_nor_deleted(offline, tmp_path, monkeypatch, harm):
    folder = users_cache(tmp_path, monkeypatch)
    server = Server()
    description = server.description()
    server.http.server_close()
    if harm != "no arff":
        (folder / "dataset.arff").write_text(ARFF[:-20] if harm == "half an arff" else ARFF)
    if harm != "no description":
        (folder / "description.xml").write_text(
            description[:50] if harm == "broken description" else description
        )
    before = sorted(folder.iterdir())
    with pytest.raises(DataUnavailable, match="no copy is cached"):
        load(toy(), offline=True)
    assert sorted(folder.iterdir()) == before


def test_offline_fails_at_once_and_names_the_remedy(offline):
    started = time.monotonic()
    with pytest.raises(DataUnavailable) as error:
        load_dataset("vote")
    assert time.monotonic() - started < 5
    message = str(error.value)
    assert "vote: OpenML 56" in message and "scripts/fetch_data.py" in message and "FEDBAYES_DATA" in message
    assert "\n" not in message


def test_one_probe_can_serve_a_whole_run(offline):
    asked = []

    def is_offline():
        asked.append(True)
        return True

    for name in ("vote", "car"):
        with contextlib.suppress(DataUnavailable):
            load(load_specification(name), offline=is_offline)
    assert asked == [True]  # car is computed, nobody asks


def test_reachable(server, monkeypatch, tmp_path):
    assert openml.reachable(2.0)
    monkeypatch.setattr(package.config, "server", f"http://127.0.0.1:{unused_port()}/api/v1/xml")
    assert not openml.reachable(2.0)
    monkeypatch.setattr(package.config, "server", "nonsense")
    assert not openml.reachable(2.0)


def test_a_server_that_does_not_answer(monkeypatch, tmp_path):
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        configure(tmp_path, monkeypatch, f"http://127.0.0.1:{deaf.getsockname()[1]}/api/v1/xml")
        started = time.monotonic()
        assert not openml.reachable(0.3)
        assert time.monotonic() - started < 3


def test_a_data_set_that_the_server_does_not_have(server):
    with pytest.raises(DataUnavailable, match="OpenML 8 cannot be had here .*Unknown dataset"):
        load(load_specification({"toy": {"openml_id": 8, "target": "klass"}}))


def test_a_download_with_a_wrong_checksum(server, monkeypatch):
    monkeypatch.setattr(openml, "RETRIES", 1)
    server.checksum = "0" * 32
    with pytest.raises(DataUnavailable, match="wrong checksum"):
        load(toy())


def test_a_malformed_file_names_its_line(server):
    server.arff = ARFF + "5,t\n"
    with pytest.raises(
        DataError, match=r"^OpenML 7: dataset\.arff, line 11: the row 5,t does not hold 4 values$"
    ):
        load(toy())


def test_another_data_set_than_described_names_the_alternative(server):
    """What happens with OpenML 991 for car: fewer classes than the paper, another name of the target."""
    server.arff = ARFF.replace("klass", "binaryClass")
    server.target = "binaryClass"
    wanted = {"openml_id": 7, "openml_alternatives": [40975, 21], "target": "class", "classes": 4}
    with pytest.raises(DataError) as error:
        load(load_specification({"toy": wanted}))
    assert "OpenML 7: not the data set 'toy' as described: 2 classes instead of 4" in str(error.value)
    assert "the set described is OpenML 40975 or 21 (openml_id: 40975)" in str(error.value)


def test_the_target_of_openml_serves_where_ours_has_another_name(server):
    specification = load_specification({"toy": SPECIFICATION["toy"] | {"target": "Class"}})
    assert load(specification).class_names == ("no", "yes")


def test_ignored_attributes(server):
    server.extra += "<oml:ignore_attribute>colour</oml:ignore_attribute>"
    specification = load_specification({"toy": {"openml_id": 7, "target": "klass"}})
    assert load(specification).attribute_names == ("bruises?",)
