"""Install the hook at the import of Keras, if this backend is chosen.

It runs at the start of Python (keras_gradtape.pth), or at the import of gradtape where Python reads no such file.

So KERAS_BACKEND may be set in the shell, or by the script before it imports Keras. Without a choice Keras uses TensorFlow; a
program that has imported gradtape, and has no TensorFlow, gets this backend. With GRADTAPE_AS_TENSORFLOW=1, which child
processes inherit from `gradtape run`, the import of TensorFlow gives gradtape. Nothing else is imported.
"""

import os
import sys


class KerasIsImported:
    """A finder that is asked for `keras` first, and finds nothing; it only detects the import.

    It remains if the hook was not installed, as a library may only test whether Keras exists.
    """

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        if fullname != "keras":
            return
        from keras_gradtape import choosing

        if "gradtape" in sys.modules and choosing.nothing_else_is_chosen():
            os.environ["KERAS_BACKEND"] = choosing.NAME
        choosing.choose()
        if os.environ.get("KERAS_BACKEND") == choosing.NAME:
            from keras_gradtape import hook

            sys.meta_path.remove(KerasIsImported)  # the hook locates Keras itself
            try:
                hook.install()
            except BaseException:
                sys.meta_path.insert(0, KerasIsImported)
                raise


class TensorflowIsImported:
    """A finder that is asked for `tensorflow` first, and runs `gradtape.as_tensorflow`, whose finder finds it."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        if fullname != "tensorflow":
            return None
        sys.meta_path.remove(TensorflowIsImported)
        import gradtape

        gradtape.as_tensorflow()
        return sys.meta_path[0].find_spec(fullname, path, target)


if "keras" not in sys.modules:
    sys.meta_path.insert(0, KerasIsImported)
if os.environ.get("GRADTAPE_AS_TENSORFLOW") == "1":
    sys.meta_path.insert(0, TensorflowIsImported)
