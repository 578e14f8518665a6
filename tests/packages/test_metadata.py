"""What a package index and a code host show of the project. `make packages` builds the packages and looks into them."""

import importlib.util
import re
import tomllib
import zipfile
from pathlib import Path

import pytest

import gradtape
from tests.packages import contents, release

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def text(path):
    return (ROOT / path).read_text("utf-8")


def hatch_build():
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_addresses_are_whole():
    assert {"Repository", "Documentation", "Changelog", "Issues"} <= set(PROJECT["urls"])
    assert all(re.fullmatch(r"https://[\w.-]+(/[\w./-]+)?", url) for url in PROJECT["urls"].values())


def test_each_python_on_which_tests_ran_is_named():
    named = [int(minor) for minor in re.findall(r"Python :: 3\.(\d+)", "\n".join(PROJECT["classifiers"]))]
    ran = re.search(r"Tests ran on Python ([^:]*):", text("docs/start/install.md"))[1]
    assert named == [int(minor) for minor in re.findall(r"3\.(\d+)", ran)]
    assert PROJECT["requires-python"] == f">=3.{named[0]}"


def test_one_version():
    assert PROJECT["version"] == gradtape.__version__
    assert f"\nversion: {gradtape.__version__}\n" in text("CITATION.cff")


def test_links_of_the_readme_lead_somewhere_on_a_package_index():
    pytest.importorskip("setuptools", reason="setuptools, which builds the package, is not installed for the tests")
    page = "[a](docs/a.md#b), [c](https://example.org/d), [e](#f), ![g](docs/g.png)"
    here = "https://host/x/blob/main"
    expected = f"[a]({here}/docs/a.md#b), [c](https://example.org/d), [e](#f), ![g](https://host/x/raw/main/docs/g.png)"
    assert hatch_build().linked(page, "https://host/x") == expected
    assert not re.search(r"\]\((?!#|https://)", hatch_build().linked(text("README.md"), "https://host/x"))


def test_a_release_tests_builds_and_publishes_without_a_password():
    workflow = text(".github/workflows/release.yml")
    assert 'tags: ["v*"]' in workflow
    assert "needs: [test, test-windows, wheels, sdist]" in workflow
    assert {"ubuntu-24.04-arm", "make release", "NOTES.md"} <= set(
        re.findall(r"ubuntu-[\w.-]+arm|make release|NOTES\.md", workflow)
    )
    assert "id-token: write" in workflow
    assert not re.search("password|secrets", workflow.split("jobs:")[1])
    assert {"ubuntu-latest", "macos-latest", "windows-latest"} <= set(re.findall(r"\w+-latest", workflow))


def test_a_pull_request_is_linted_typed_and_tested_on_three_systems():
    workflow = text(".github/workflows/tests.yml")
    assert "pull_request:" in workflow
    assert {"make lint", "make types", "python -m pytest"} <= set(re.findall(r"make lint|make types|python -m pytest", workflow))
    assert {"ubuntu-latest", "macos-latest", "windows-latest"} <= set(re.findall(r"\w+-latest", workflow))


def test_a_bill_names_what_an_installation_brings():
    packages = release.closure("gradtape")
    document = release.bill(packages, "gradtape")
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    named = {part["name"] for part in document["components"]}
    assert {"jax", "jaxlib", "keras", "numpy"} <= named and not {"pytest", "gradtape"} & named  # pytest is an extra's
    assert all(release.licence(name) != "not stated" for name in packages)
    refs = {part["bom-ref"] for part in [document["metadata"]["component"], *document["components"]]}
    assert {ref for row in document["dependencies"] for ref in (row["ref"], *row["dependsOn"])} == refs


def test_the_notes_of_a_release_are_its_section_of_the_changelog():
    changelog = "# Changelog\n\n## 0.2.0\n\n- new\n\n## 0.1.0 (unreleased): what\n\n- old\n"
    assert release.notes(changelog, "0.1.0") == "# gradtape 0.1.0\n\n- old\n"
    assert release.notes(changelog, "0.2.0") == "# gradtape 0.2.0\n\n- new\n"
    with pytest.raises(SystemExit, match=r"no section for 0\.3\.0"):
        release.notes(changelog, "0.3.0")


def test_an_issue_asks_for_what_is_needed():
    form = text(".github/ISSUE_TEMPLATE/wrong.yml")
    assert re.findall(r"The output of `gradtape (\w+)", form) == ["why", "info"]
    assert form.count("required: true") == form.count("- type:")


def test_the_image_of_the_demo_has_what_the_build_needs():
    copied = re.findall(r"^COPY (.*) \S+$", text("Dockerfile"), re.MULTILINE)
    files = {name for line in copied for name in line.split()}
    assert files == {line.removeprefix("!") for line in text(".dockerignore").splitlines() if line.startswith("!")}
    assert all((ROOT / name).exists() for name in files)
    assert {"README.md", "LICENSE", "hatch_build.py", "keras_gradtape.pth"} <= files


def test_a_bad_wheel_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(contents, "tracked", lambda *folders: {"gradtape/__init__.py", "gradtape/lost.py"})
    path = tmp_path / "gradtape-1.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("gradtape/__init__.py", "")
        wheel.writestr("gradtape/__pycache__/a.pyc", "")
        wheel.writestr("gradtape-1.dist-info/METADATA", "Summary: s\nRequires-Python: >=3.11\n\n# gradtape\n[a](docs/a.md)")
    assert contents.wheel_faults(path) == [
        "the metadata has no License-Expression",
        "the README has links that lead nowhere on a package index",
        "gradtape/lost.py is missing",
        "gradtape/__pycache__/a.pyc does not belong there",
        "gradtape/__pycache__/a.pyc does not belong there",
        "gradtape-1.dist-info/entry_points.txt is missing",
        "gradtape-1.dist-info/licenses/LICENSE is missing",
    ]


def test_a_package_that_is_too_large_is_found(tmp_path, monkeypatch):
    (tmp_path / "a.whl").write_bytes(bytes(11))
    monkeypatch.setitem(contents.LARGEST, "wheel", 10)
    assert contents.size_faults(tmp_path / "a.whl", "wheel") == ["11 bytes are more than the 10 of a wheel"]
