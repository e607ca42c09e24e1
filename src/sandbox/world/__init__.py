"""The deterministic world of the sandbox: what a small company's accounts hold."""
