#include "RawOpenSSL.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rsa.h>
#include <stdlib.h>
#include <string.h>

struct raw_signature {
    EVP_PKEY *key;
    unsigned char *message;
    size_t message_length;
    unsigned char *signature;
    size_t signature_length;
};

static raw_signature *raw_signature_sign(EVP_PKEY *key, size_t message_length) {
    raw_signature *raw = calloc(1, sizeof *raw);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int made = 0;
    if (raw && context && key) {
        raw->message = malloc(message_length);
        raw->message_length = message_length;
        raw->key = key;
        if (raw->message) memset(raw->message, 'A', message_length);
        made = raw->message && EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
               EVP_DigestSign(context, NULL, &raw->signature_length, raw->message, message_length) == 1 &&
               (raw->signature = malloc(raw->signature_length)) != NULL &&
               EVP_DigestSign(context, raw->signature, &raw->signature_length, raw->message, message_length) == 1;
    }
    EVP_MD_CTX_free(context);
    if (!made) {
        if (raw && !raw->key) EVP_PKEY_free(key);
        raw_signature_free(raw);
        return NULL;
    }
    return raw;
}

raw_signature *raw_signature_new(size_t message_length) {
    return raw_signature_sign(EVP_EC_gen("P-256"), message_length);
}

raw_signature *raw_rsa_signature_new(size_t message_length) {
    return raw_signature_sign(EVP_RSA_gen(2048), message_length);
}

int raw_signature_verify(const raw_signature *raw) {
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int verified = context != NULL && EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, raw->key) == 1 &&
                   EVP_DigestVerify(context, raw->signature, raw->signature_length, raw->message,
                                    raw->message_length) == 1;
    EVP_MD_CTX_free(context);
    return verified;
}

int raw_sha256(const unsigned char *octets, size_t count) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    return EVP_Digest(octets, count, digest, NULL, EVP_sha256(), NULL) == 1;
}

int raw_hmac(const unsigned char *octets, size_t count) {
    static const unsigned char key[] = "whsec_benchmark_0123456789abcdef";
    unsigned char mac[EVP_MAX_MD_SIZE];
    unsigned int length = 0;
    return HMAC(EVP_sha256(), key, sizeof key - 1, octets, count, mac, &length) != NULL;
}

void raw_signature_free(raw_signature *raw) {
    if (!raw) return;
    EVP_PKEY_free(raw->key);
    free(raw->message);
    free(raw->signature);
    free(raw);
}
