"""The families of `numpy.py`."""
