# The image of access-gateway: the installed package, what `db backup` needs, a user without rights.
#
# The digest is that of python:3.12-slim-bookworm. To renew it: `docker pull` the tag, take the digest
# that `docker image ls --digests` shows, run the tests in the image, commit. To build on another base:
# --build-arg PYTHON_IMAGE=…
ARG PYTHON_IMAGE=python:3.12-slim-bookworm@sha256:782412e85d0f0984994c290652577d4018aff08145c85b262bb63dc0c7522254

FROM ${PYTHON_IMAGE} AS build
WORKDIR /build
RUN python -m venv /opt/access-gateway
COPY requirements.lock requirements-build.lock ./
RUN pip install --no-cache-dir --require-hashes --only-binary :all: -r requirements-build.lock \
    && /opt/access-gateway/bin/pip install --no-cache-dir --require-hashes --only-binary :all: -r requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /build/wheels . \
    && /opt/access-gateway/bin/pip install --no-cache-dir --no-deps /build/wheels/*.whl \
    && /opt/access-gateway/bin/python -m pip uninstall --yes --quiet setuptools pip

FROM ${PYTHON_IMAGE}
# pg_dump, pg_restore and psql, for `db backup` and `db restore`; they serve PostgreSQL 15 and older.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends postgresql-client-15 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --create-home gateway \
    && install -d -o gateway -m 0700 /data
# What installs packages is of no use to the gateway, and has vulnerabilities of its own: neither the
# environment nor Python's own folders have it.
RUN /usr/local/bin/python -m pip uninstall --yes --quiet setuptools pip \
    && rm -rf /usr/local/lib/python3*/ensurepip
COPY --from=build /opt/access-gateway /opt/access-gateway
ENV PATH=/opt/access-gateway/bin:$PATH PYTHONUNBUFFERED=1 \
    AGW_HOST=0.0.0.0 AGW_PORT=8000 AGW_DATA_DIR=/data
# By number, so that Kubernetes can check that it is not root.
USER 10001
WORKDIR /data
VOLUME /data
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import os, urllib.request as u; u.urlopen(f'http://127.0.0.1:{os.environ[\"AGW_PORT\"]}/readyz', timeout=4)"]
ENTRYPOINT ["access-gateway"]
CMD ["serve"]
