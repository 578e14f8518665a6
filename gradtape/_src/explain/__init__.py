# What they observe is in force as soon as anything of the explainer is imported.
from gradtape._src.explain import alerts as alerts, pictures as pictures
