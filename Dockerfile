# The demo: docker build -t gradtape . && docker run --rm -v "$PWD:/out" gradtape
FROM python:3.12-slim
WORKDIR /gradtape
COPY pyproject.toml hatch_build.py README.md LICENSE keras_gradtape.pth ./
COPY gradtape gradtape
COPY gradtape_cli gradtape_cli
COPY keras_gradtape keras_gradtape
RUN pip install --no-cache-dir '.[demo]'
WORKDIR /out
CMD ["gradtape", "demo"]
