#ifndef RAW_OPENSSL_H
#define RAW_OPENSSL_H

#include <stddef.h>

/// The floor: what libcrypto takes for one signature over one message, and nothing around it.
typedef struct raw_signature raw_signature;

/// Signs a message of this length with a new P-256 key; NULL where libcrypto cannot.
raw_signature *raw_signature_new(size_t message_length);

/// The same with a new RSA key of 2048 bits and PKCS #1 v1.5 padding, as RS256 has it.
raw_signature *raw_rsa_signature_new(size_t message_length);

/// One EVP_DigestVerifyInit and EVP_DigestVerify; 1 where the signature holds.
int raw_signature_verify(const raw_signature *signature);

/// One SHA-256 over these octets; 1 where it was computed.
int raw_sha256(const unsigned char *octets, size_t count);

/// One HMAC-SHA-256 over these octets; 1 where it was computed.
int raw_hmac(const unsigned char *octets, size_t count);

void raw_signature_free(raw_signature *signature);

#endif
