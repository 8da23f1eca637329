"""Public programs, written anew for Lento: small, and with what is random given from outside."""
