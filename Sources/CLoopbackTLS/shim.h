#ifndef CLOOPBACK_TLS_SHIM_H
#define CLOOPBACK_TLS_SHIM_H

#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

// What follows are macros or variadic functions, which Swift cannot call.

static inline EVP_PKEY *loopback_make_p256_key(void) { return EVP_EC_gen("P-256"); }

static inline int loopback_set_versions(SSL_CTX *context, int minimum, int maximum) {
    return SSL_CTX_set_min_proto_version(context, minimum) == 1 && SSL_CTX_set_max_proto_version(context, maximum) == 1;
}

static inline long loopback_memory(BIO *bio, char **octets) { return BIO_get_mem_data(bio, octets); }

static inline void loopback_set_context(X509V3_CTX *context, X509 *issuer, X509 *subject) {
    X509V3_set_ctx(context, issuer, subject, NULL, NULL, 0);
}

#endif
