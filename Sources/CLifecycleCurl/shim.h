#ifndef CLIFECYCLE_CURL_SHIM_H
#define CLIFECYCLE_CURL_SHIM_H

#include <curl/curl.h>

// Swift cannot call C variadics. Each function below fixes the last argument of one to a type that libcurl reads it
// as; the parentheses keep curl's type-checking macros of the same names away.

// For options of CURLOPTTYPE_LONG and CURLOPTTYPE_VALUES.
static inline CURLcode lifecycle_curl_set_long(CURL *handle, CURLoption option, long value) {
    return (curl_easy_setopt)(handle, option, value);
}

// For options of CURLOPTTYPE_OFF_T, which is wider than long on some platforms.
static inline CURLcode lifecycle_curl_set_offset(CURL *handle, CURLoption option, curl_off_t value) {
    return (curl_easy_setopt)(handle, option, value);
}

// For options of CURLOPTTYPE_STRINGPOINT; libcurl copies the string. NULL resets the option.
static inline CURLcode lifecycle_curl_set_string(CURL *handle, CURLoption option, const char *value) {
    return (curl_easy_setopt)(handle, option, value);
}

// For options of CURLOPTTYPE_OBJECTPOINT, CBPOINT and SLISTPOINT, whose target must outlive the transfer; and for
// CURLOPT_COPYPOSTFIELDS, which copies as many octets as CURLOPT_POSTFIELDSIZE_LARGE says.
static inline CURLcode lifecycle_curl_set_pointer(CURL *handle, CURLoption option, const void *value) {
    return (curl_easy_setopt)(handle, option, value);
}

// For options of CURLOPTTYPE_BLOB.
static inline CURLcode lifecycle_curl_set_blob(CURL *handle, CURLoption option, const struct curl_blob *value) {
    return (curl_easy_setopt)(handle, option, value);
}

// For CURLOPT_WRITEFUNCTION and CURLOPT_HEADERFUNCTION, whose types are the same.
static inline CURLcode lifecycle_curl_set_callback(CURL *handle, CURLoption option, curl_write_callback value) {
    return (curl_easy_setopt)(handle, option, value);
}

// For information of CURLINFO_LONG.
static inline CURLcode lifecycle_curl_get_long(CURL *handle, CURLINFO information, long *value) {
    return (curl_easy_getinfo)(handle, information, value);
}

// For information of CURLINFO_OFF_T.
static inline CURLcode lifecycle_curl_get_offset(CURL *handle, CURLINFO information, curl_off_t *value) {
    return (curl_easy_getinfo)(handle, information, value);
}

// For CURLINFO_PRIVATE.
static inline CURLcode lifecycle_curl_get_pointer(CURL *handle, CURLINFO information, void **value) {
    return (curl_easy_getinfo)(handle, information, value);
}

// For options of CURLOPTTYPE_LONG of a multi handle.
static inline CURLMcode lifecycle_curl_multi_set_long(CURLM *handle, CURLMoption option, long value) {
    return (curl_multi_setopt)(handle, option, value);
}

// For CURLSHOPT_SHARE.
static inline CURLSHcode lifecycle_curl_share_set_data(CURLSH *handle, curl_lock_data value) {
    return (curl_share_setopt)(handle, CURLSHOPT_SHARE, value);
}

// libcurl before 7.85 knows the allowed protocols as bits only; later ones have deprecated these.
static inline CURLcode lifecycle_curl_allow_https_only(CURL *handle) {
#if LIBCURL_VERSION_NUM >= 0x075500
    CURLcode code = (curl_easy_setopt)(handle, CURLOPT_PROTOCOLS_STR, "https");
    return code != CURLE_OK ? code : (curl_easy_setopt)(handle, CURLOPT_REDIR_PROTOCOLS_STR, "https");
#else
    CURLcode code = (curl_easy_setopt)(handle, CURLOPT_PROTOCOLS, (long)CURLPROTO_HTTPS);
    return code != CURLE_OK ? code : (curl_easy_setopt)(handle, CURLOPT_REDIR_PROTOCOLS, (long)CURLPROTO_HTTPS);
#endif
}

// For an emulator on this host, which speaks nothing else.
static inline CURLcode lifecycle_curl_allow_http_only(CURL *handle) {
#if LIBCURL_VERSION_NUM >= 0x075500
    return (curl_easy_setopt)(handle, CURLOPT_PROTOCOLS_STR, "http");
#else
    return (curl_easy_setopt)(handle, CURLOPT_PROTOCOLS, (long)CURLPROTO_HTTP);
#endif
}

// Has a transfer that ends during its look-up not wait for the resolver's thread. Older ones than 7.87 always wait.
static inline CURLcode lifecycle_curl_leave_resolver(CURL *handle) {
#if LIBCURL_VERSION_NUM >= 0x075700
    return (curl_easy_setopt)(handle, CURLOPT_QUICK_EXIT, 1L);
#else
    (void)handle;
    return CURLE_OK;
#endif
}

#endif
