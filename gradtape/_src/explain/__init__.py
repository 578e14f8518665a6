# These modules register their hooks when any part of the explainer is imported.
from gradtape._src.explain import alerts as alerts, pictures as pictures
