"""What a Keras layer has of its backend: nothing here, because the tape sees ops and variables, not layers."""


class BackendLayer:
    """A layer on gradtape."""
