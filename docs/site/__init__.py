"""The documentation site: how its pages are gathered, made and built. `make site` runs `python -m docs.site`."""
