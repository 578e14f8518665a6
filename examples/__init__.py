"""Programs in TensorFlow's idiom on gradtape; README.md lists them."""
