"""The faults that `make test-faults` puts into the library still have their place there."""

import pytest

from tests.faults.seeded import ROOT, faults


@pytest.mark.parametrize("fault", faults().values(), ids=lambda fault: fault.name)
def test_what_a_fault_replaces_is_there(fault):
    """Once, and Python reads what takes its place. Where the code has changed, so does `seeded.txt`."""
    compile(fault.source, fault.path, "exec")
    assert all((ROOT / test).exists() for test in fault.tests if test.startswith("tests/"))


def test_each_fault_is_read():
    assert len(faults()) >= 60
