#ifndef CLIFECYCLE_OPENSSL_SHIM_H
#define CLIFECYCLE_OPENSSL_SHIM_H

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/ocsp.h>
#include <openssl/param_build.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

// SHA-256 without a provider. Unlike EVP_Digest it takes no memory and looks nothing up, so it always succeeds.

static inline void lifecycle_SHA256(const void *bytes, size_t length, unsigned char *digest) {
    SHA256_CTX context;
    SHA256_Init(&context);
    SHA256_Update(&context, bytes, length);
    SHA256_Final(digest, &context);
}

// The functions of STACK_OF(X509) are macros that cast their way to OPENSSL_sk_*.

static inline STACK_OF(X509) *lifecycle_X509_stack_new(void) {
    return sk_X509_new_null();
}

static inline int lifecycle_X509_stack_push(STACK_OF(X509) *stack, X509 *certificate) {
    return sk_X509_push(stack, certificate);
}

static inline int lifecycle_X509_stack_count(const STACK_OF(X509) *stack) {
    return sk_X509_num(stack);
}

static inline X509 *lifecycle_X509_stack_value(const STACK_OF(X509) *stack, int index) {
    return sk_X509_value(stack, index);
}

static inline void lifecycle_X509_stack_free(STACK_OF(X509) *stack) {
    sk_X509_free(stack);
}

// The same for STACK_OF(OPENSSL_STRING).

static inline int lifecycle_string_stack_count(const STACK_OF(OPENSSL_STRING) *stack) {
    return sk_OPENSSL_STRING_num(stack);
}

static inline const char *lifecycle_string_stack_value(const STACK_OF(OPENSSL_STRING) *stack, int index) {
    return sk_OPENSSL_STRING_value(stack, index);
}

// OPENSSL_clear_free is a macro that records the file and line of its caller.

static inline void lifecycle_OPENSSL_clear_free(void *memory, size_t length) {
    OPENSSL_clear_free(memory, length);
}

// BIO_get_mem_data is a macro over the untyped BIO_ctrl.

static inline long lifecycle_BIO_get_mem_data(BIO *bio, char **data) {
    return BIO_get_mem_data(bio, data);
}

// Swift imports no macro that is an expression of other macros.

static const int lifecycle_EVP_PKEY_PUBLIC_KEY = EVP_PKEY_PUBLIC_KEY;
static const int lifecycle_MBSTRING_UTF8 = MBSTRING_UTF8;

#endif
