# pyright: basic, reportMissingImports=false
"""Entry point that NeMo Gym starts."""

from envmill_nemo_gym import MillServer

if __name__ == "__main__":
    MillServer.run_webserver()
