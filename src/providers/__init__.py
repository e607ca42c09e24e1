"""Where data comes from: records, ports and the connectors behind them."""
