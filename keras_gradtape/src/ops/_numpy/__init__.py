"""The function families of `numpy.py`."""
