"""
Encryption of stored credentials and of tokens handed to clients.

    keyring   seals and signs with the newest secret key, opens and verifies with any
"""
