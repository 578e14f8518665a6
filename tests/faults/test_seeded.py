"""The faults that `make test-faults` puts into the library still have their place there."""

from tests.faults.seeded import ROOT, faults


def test_what_a_fault_replaces_is_there():
    """Once, and Python reads what takes its place. Where the code has changed, so does `seeded.txt`."""
    for fault in faults().values():
        compile(fault.source, fault.path, "exec")
        assert all((ROOT / test).exists() for test in fault.tests if test.startswith("tests/")), fault.name
    assert len(faults()) >= 60
