FROM python:3.11-slim

RUN useradd --create-home gateway
WORKDIR /app
COPY requirements.lock pyproject.toml README.md LICENSE ./
RUN pip install --no-cache-dir --require-hashes --only-binary :all: -r requirements.lock
COPY src ./src
ENV PYTHONPATH=/app/src PYTHONUNBUFFERED=1 AGW_HOST=0.0.0.0 AGW_PORT=8000 AGW_DATA_DIR=/data
RUN mkdir /data && chown gateway /data
USER gateway
VOLUME /data
EXPOSE 8000
ENTRYPOINT ["python", "-m", "gateway"]
CMD ["serve"]
