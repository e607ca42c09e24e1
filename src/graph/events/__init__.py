"""Calendars as the schema shows them, and what their root fields do."""
