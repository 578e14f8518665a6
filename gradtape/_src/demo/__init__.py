"""`gradtape demo`: a small network learns to read handwritten digits."""
