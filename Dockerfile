# EnvMill in a container: `make image BASE=...` (docs/operating.md). Base: Debian or its kin, with the Python that `make image` was run with.
# Nothing is fetched here: packages are the wheels that `make image` checked against requirements.lock. What changes least comes first.
ARG BASE=python:3.11-slim-bookworm

FROM ${BASE} AS installed
WORKDIR /app
COPY .wheels /wheels
COPY pyproject.toml ./
# The program itself comes last, into the folders that are linked here: a changed line of it installs nothing anew.
RUN for folder in envmill schemas quality offline tasks flows; do install -D /dev/null $folder/__init__.py; done && touch README.md LICENSE \
 && python3 -m venv --without-pip /opt/envmill \
 && PYTHONPATH="$(echo /wheels/pip-*.whl)" PIP_NO_INDEX=1 PIP_FIND_LINKS=/wheels PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore \
    /opt/envmill/bin/python -m pip install -qq --editable ".[s3]"

FROM ${BASE}
# /app/.envmill: where the demo has its home, whatever the settings say; it goes with the container.
RUN useradd --uid 10001 --create-home envmill && install -d -o envmill -g envmill /data /app/.envmill
COPY --from=installed /opt/envmill /opt/envmill
WORKDIR /app
COPY LICENSE pyproject.toml prefect.yaml requirements.lock ./
COPY data data
COPY schemas schemas
COPY quality quality
COPY offline offline
COPY envmill envmill
COPY tasks tasks
COPY flows flows
# Nobody can write bytecode there afterwards, and every process would compile the program anew. What lies in data are templates.
RUN /opt/envmill/bin/python -m compileall -q -x '^/app/data/' /app
ENV PATH=/opt/envmill/bin:/usr/local/bin:/usr/bin:/bin \
    LC_ALL=C.UTF-8 \
    ENVMILL_HOME=/data/home \
    ENVMILL_LAKE=/data/lake \
    ENVMILL_BUNDLES=/data/bundles \
    ENVMILL_IMAGES=/data/images
USER envmill
VOLUME /data
ENTRYPOINT ["envmill"]
CMD ["up", "--stay"]
