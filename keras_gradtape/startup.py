"""Run when Python starts (keras_gradtape.pth): waits for the import of Keras, and installs the hook if this backend is asked for.

So KERAS_BACKEND may be set in the shell, or by the script before it imports Keras. Where nothing chooses a backend, Keras takes
TensorFlow; a program that has imported gradtape, and has no TensorFlow, gets this one. With GRADTAPE_AS_TENSORFLOW=1, which
processes inherit from `gradtape run`, the import of TensorFlow is waited for too, and gives gradtape. Nothing else is imported.
"""

import os
import sys


class KerasIsImported:
    """The first finder that is asked for `keras`. It finds nothing; it only sees the moment."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        if fullname == "keras":
            sys.meta_path.remove(KerasIsImported)
            from keras_gradtape import choosing

            if "gradtape" in sys.modules and choosing.nothing_else_is_chosen():
                os.environ["KERAS_BACKEND"] = choosing.NAME
            choosing.choose()
            if os.environ.get("KERAS_BACKEND") == choosing.NAME:
                from keras_gradtape import hook

                hook.install()


class TensorflowIsImported:
    """The first finder that is asked for `tensorflow`: it makes `gradtape.as_tensorflow` ready, which finds it."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        if fullname != "tensorflow":
            return None
        sys.meta_path.remove(TensorflowIsImported)
        import gradtape

        gradtape.as_tensorflow()
        return sys.meta_path[0].find_spec(fullname, path, target)


sys.meta_path.insert(0, KerasIsImported)
if os.environ.get("GRADTAPE_AS_TENSORFLOW") == "1":
    sys.meta_path.insert(0, TensorflowIsImported)
