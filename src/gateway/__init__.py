"""The process: assembles the other four packages and holds the operator's side."""

from gateway.store import sqlite as sqlite  # before anything else imports the system's
