/* Signs packs and checks signatures: signature.h. */
#include "cache/signature.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium/core.h>
#include <sodium/crypto_sign.h>
#include <sodium/utils.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cache/atomic_file.h"

static const char secret_line[] = "stentor secret key 1\n", signature_line[] = "stentor signature 1\nkey ",
                  signature_label[] = "\nsignature ", purpose[] = "stentor pack 1\n";
enum {
    SECRET = crypto_sign_SECRETKEYBYTES,
    PUBLIC = crypto_sign_PUBLICKEYBYTES,
    SIGNATURE = crypto_sign_BYTES,
    MAX_TEXT = 4096 /* bytes of a file of a key or a signature */
};

/* Initialises libsodium; any thread may call it, any number of times. */
static stn_status begin(stn_error *error) {
    return sodium_init() < 0 ? stn_fail(error, STN_ERROR_INTERNAL, "libsodium cannot be used") : STN_OK;
}

/* Reads exactly 2 * size hex digits at text + *at, and advances *at. */
static bool take_hex(const char *text, size_t text_size, size_t *at, unsigned char *bytes, size_t size) {
    size_t made = 0;
    if (text_size - *at < 2 * size) return false;
    if (sodium_hex2bin(bytes, size, text + *at, 2 * size, NULL, &made, NULL) || made != size) return false;
    *at += 2 * size;
    return true;
}

static bool take(const char *text, size_t text_size, size_t *at, const char *word) {
    const size_t size = strlen(word);
    if (text_size - *at < size || memcmp(text + *at, word, size) != 0) return false;
    *at += size;
    return true;
}

stn_status stn_signature_read_file(const char *path, char **bytes, size_t *size, stn_error *error) {
    const stn_folder anyone = {.shared = true};
    struct stat seen;
    stn_error why = {0};
    char *file = realpath(path, NULL); /* the path may be a symlink */
    const stn_status status =
        stn_file_read(&anyone, AT_FDCWD, file ? file : path, 0, SIZE_MAX / 4, false, bytes, &seen, &why);
    free(file);
    if (status != STN_OK) return stn_fail(error, status, "the file %s is not used: %s", path, why.message);
    *size = (size_t)seen.st_size;
    return STN_OK;
}

/* ---- keys ------------------------------------------------------------------------------------ */

stn_status stn_signature_make_keys(stn_text *secret, char public_key[STN_PUBLIC_KEY_TEXT], stn_error *error) {
    unsigned char secret_bytes[SECRET], public_bytes[PUBLIC];
    char digits[2 * SECRET + 1];
    STN_TRY(begin(error));
    crypto_sign_keypair(public_bytes, secret_bytes);
    sodium_bin2hex(digits, sizeof digits, secret_bytes, sizeof secret_bytes);
    stn_text_printf(secret, "%s%s\n", secret_line, digits);
    sodium_memzero(secret_bytes, sizeof secret_bytes);
    sodium_memzero(digits, sizeof digits);
    sodium_bin2hex(public_key, STN_PUBLIC_KEY_TEXT, public_bytes, sizeof public_bytes);
    return secret->failed ? stn_fail_memory(error, "a key", sizeof secret_bytes) : STN_OK;
}

static bool is_key(const char *text, size_t size) {
    unsigned char bytes[PUBLIC];
    size_t at = 0;
    return take_hex(text, size, &at, bytes, sizeof bytes) && (at == size || text[at] == '\n');
}

stn_status stn_signature_read_key(const char *given, char public_key[STN_PUBLIC_KEY_TEXT], stn_error *error) {
    const bool itself = strlen(given) == STN_PUBLIC_KEY_TEXT - 1 && is_key(given, STN_PUBLIC_KEY_TEXT - 1);
    char *text = NULL;
    size_t size = 0;
    if (!itself) STN_TRY(stn_signature_read_file(given, &text, &size, error));
    const bool good = itself || is_key(text, size);
    if (good) {
        memcpy(public_key, itself ? given : text, STN_PUBLIC_KEY_TEXT - 1);
        public_key[STN_PUBLIC_KEY_TEXT - 1] = '\0';
    }
    free(text);
    return good ? STN_OK
                : stn_fail(error, STN_ERROR_FORMAT,
                           "%.200s is no public key: give the 64 hex digits that `stentor pack keys` prints, or a file "
                           "that begins with them",
                           given);
}

/* ---- signatures ------------------------------------------------------------------------------ */

static void add_message(crypto_sign_state *state, const void *bytes, size_t size) {
    crypto_sign_init(state);
    crypto_sign_update(state, (const unsigned char *)purpose, sizeof purpose - 1);
    crypto_sign_update(state, bytes, size);
}

stn_status stn_signature_make(const char *file, const void *bytes, size_t size, stn_text *text, stn_error *error) {
    unsigned char secret[SECRET], public_key[PUBLIC], signature[SIGNATURE];
    char by[2 * PUBLIC + 1], digits[2 * SIGNATURE + 1];
    crypto_sign_state state;
    char *key = NULL;
    size_t key_size = 0, at = 0;
    STN_TRY(begin(error));
    STN_TRY(stn_signature_read_file(file, &key, &key_size, error));
    const bool good = take(key, key_size, &at, secret_line) && take_hex(key, key_size, &at, secret, sizeof secret);
    sodium_memzero(key, key_size);
    free(key);
    if (!good)
        return stn_fail(error, STN_ERROR_FORMAT, "%.200s is no secret key: make one with `stentor pack keys -o FILE`",
                        file);
    add_message(&state, bytes, size);
    crypto_sign_final_create(&state, signature, NULL, secret);
    crypto_sign_ed25519_sk_to_pk(public_key, secret);
    sodium_memzero(secret, sizeof secret);
    sodium_bin2hex(by, sizeof by, public_key, sizeof public_key);
    sodium_bin2hex(digits, sizeof digits, signature, sizeof signature);
    stn_text_printf(text, "%s%s%s%s\n", signature_line, by, signature_label, digits);
    return text->failed ? stn_fail_memory(error, "a signature", MAX_TEXT) : STN_OK;
}

/* STN_ERROR_FORMAT: the text is no signature of these bytes by this key. */
static stn_status check(const char *text, size_t text_size, const char *public_key, const void *bytes, size_t size,
                        stn_error *error) {
    unsigned char trusted[PUBLIC], by[PUBLIC], signature[SIGNATURE];
    crypto_sign_state state;
    size_t at = 0, trusted_at = 0;
    STN_TRY(begin(error));
    if (!take_hex(public_key, strlen(public_key), &trusted_at, trusted, sizeof trusted))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the trusted key is no key of 64 hex digits");
    if (!take(text, text_size, &at, signature_line) || !take_hex(text, text_size, &at, by, sizeof by) ||
        !take(text, text_size, &at, signature_label) || !take_hex(text, text_size, &at, signature, sizeof signature) ||
        !take(text, text_size, &at, "\n") || at != text_size)
        return stn_fail(error, STN_ERROR_FORMAT, "its signature is not in the form of `stentor pack sign`");
    if (memcmp(by, trusted, sizeof by) != 0)
        return stn_fail(error, STN_ERROR_FORMAT, "it is signed by another key than the trusted one");
    add_message(&state, bytes, size);
    if (crypto_sign_final_verify(&state, signature, trusted))
        return stn_fail(error, STN_ERROR_FORMAT, "its signature is wrong: it was changed after it was signed");
    return STN_OK;
}

/* ---- packs ----------------------------------------------------------------------------------- */

static stn_status read_signature(const char *path, char **text, size_t *size, stn_error *error) {
    char *name = NULL;
    if (asprintf(&name, "%s" STN_SIGNATURE_SUFFIX, path) < 0)
        return stn_fail_memory(error, "a file name", strlen(path));
    const bool absent = access(name, F_OK) && errno == ENOENT;
    const stn_status status =
        absent ? stn_fail(error, STN_ERROR_FORMAT, "the pack %s is not signed: there is no %s", path, name)
               : stn_signature_read_file(name, text, size, error);
    free(name);
    if (status != STN_OK || *size <= MAX_TEXT) return status;
    free(*text);
    *text = NULL;
    return stn_fail(error, STN_ERROR_FORMAT, "the signature of the pack %s is too long", path);
}

stn_status stn_pack_open_signed(const char *path, const char *public_key, stn_pack **pack, stn_error *error) {
    char *bytes = NULL, *text = NULL;
    size_t size = 0, text_size = 0;
    stn_error why = {0};
    STN_TRY(stn_signature_read_file(path, &bytes, &size, error));
    stn_status status = read_signature(path, &text, &text_size, error);
    if (status == STN_OK) {
        status = check(text, text_size, public_key, bytes, size, &why);
        if (status != STN_OK) (void)stn_fail(error, status, "the pack %s is not used: %s", path, why.message);
    }
    free(text);
    if (status == STN_OK) return stn_pack_open_owned(path, bytes, size, pack, error);
    free(bytes);
    return status;
}
