"""Programs for the explainer, as users write them. Each gives `(gradients, diagnoses)`.

A comment `# <- code` marks the line that the first Diagnosis which is not "connected" must name, and its code; a program
without one is right, and all its sources are connected.
"""
