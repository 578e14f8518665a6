"""The documentation site: gathering, generating and building its pages. `make site` runs `python -m docs.site`."""
