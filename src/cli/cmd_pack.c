/* stentor pack: builds, lists, checks and merges packs, files of compiled kernels for machines
 * without NVRTC. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/sanitize.h"
#include "cache/signature.h"
#include "cli/command.h"
#include "cli/command_output.h"
#include "cli/pack_build.h"
#include "context/kernel.h"
#include "io/output.h"

enum { MAX_PACKS = 63 }; /* most packs in one command */

typedef struct pack_settings {
    cli_pack_options options;
    cli_report_settings report;
    const char *key, *trust;
} pack_settings;

#define AT(member) offsetof(pack_settings, options.member)
static const cli_option pack_options[] = {
    {"--out", "FILE.stnpack", CLI_TEXT, AT(out), "build, merge: the pack to write"},
    {"-o", "FILE.stnpack", CLI_TEXT, AT(out), "the same"},
    {"--arch", "sm_80,sm_90", CLI_TEXT, AT(archs), "build: the architectures to compile for"},
    {"--problems", "LIST.json", CLI_TEXT, AT(problems),
     "build: a list of objects with stencil or taps, size, and optionally\nboundary, dtype, steps, strategy, with "
     "values as for 'stentor run'; or\nwith transform (forward, inverse, real, real-inverse), size, and\noptionally "
     "axes, norm, dtype, as for 'stentor fft'; a list of values\nstands for one problem each"},
    {"--threads", "N", CLI_COUNT, AT(threads), "build: compile on N threads (default: all that this process may use)"},
    {"--cache-dir", "DIR", CLI_TEXT, AT(cache_dir), "build: reuse the kernels stored in this folder"},
    {"--pack", "FILE", CLI_LIST, AT(packs), "build: reuse the kernels of this pack; may be repeated"},
    {"--all-ptx", NULL, CLI_FLAG, AT(all_ptx),
     "build: keep the PTX of all architectures, not only the newest one's\n(which serves all newer GPUs)"},
    {"--key", "FILE", CLI_TEXT, offsetof(pack_settings, key), "sign: the secret key, of 'stentor pack keys -o FILE'"},
    {"--trust", "KEY", CLI_TEXT, offsetof(pack_settings, trust),
     "verify: also check that the pack is signed by this public key (64 hex\ndigits, or a file of them)"},
};
#undef AT

/* ---- build ----------------------------------------------------------------------------------- */

static stn_status build(const pack_settings *settings, stn_error *error) {
    const cli_pack_options *options = &settings->options;
    const char *missing = !options->archs ? "--arch" : !options->problems ? "--problems" : !options->out ? "-o" : NULL;
    if (missing)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "%s is missing: stentor pack build --arch sm_90 --problems LIST.json -o FILE.stnpack", missing);
    cli_pack_result result;
    STN_TRY(cli_pack_build(options, &settings->report, &result, error));
    char bytes[32];
    cli_format_bytes(result.bytes, bytes, sizeof bytes);
    if (settings->report.json) {
        stn_text text = STN_TEXT_EMPTY;
        char *data;
        stn_text_printf(&text, "{\"problems\":%zu,\"archs\":%zu,\"kernels\":%zu,\"bytes\":%zu,\"threads\":%zu",
                        result.problems, result.archs, result.kernels, result.bytes, result.threads);
        stn_json_key(&text, "seconds"), stn_json_number(&text, result.seconds);
        stn_json_key(&text, "out"), stn_json_string(&text, options->out);
        stn_json_key(&text, "cache"), cli_json_counters(&result.stats, &text);
        stn_text_printf(&text, "}\n");
        STN_TRY(stn_text_take(&text, &data, error));
        fputs(data, stdout);
        stn_text_free(data);
    } else if (!settings->report.quiet)
        printf("%s: %zu kernels, %s, for %zu problems on %zu architectures; %llu compiled, %.1f s on %zu threads\n",
               options->out, result.kernels, bytes, result.problems, result.archs,
               (unsigned long long)result.stats.misses, result.seconds, result.threads);
    return STN_OK;
}

/* ---- list and verify ------------------------------------------------------------------------- */

static void show_entry(const stn_entry *entry, const stn_key *source, uint64_t bytes, bool json, stn_text *text) {
    char hex[65], arch[16], kernel[64], compiler[160], size[32];
    stn_key_hex(source, hex);
    (void)stn_entry_field(entry, "arch", arch, sizeof arch);
    (void)stn_entry_field(entry, "kernel", kernel, sizeof kernel);
    (void)stn_entry_field(entry, "compiler", compiler, sizeof compiler);
    if (!json) {
        cli_format_bytes(bytes, size, sizeof size);
        stn_text_printf(text, "%.16s  %-8s %10s  %-24s %.60s\n", hex, arch, size, kernel, compiler);
        return;
    }
    stn_json_comma(text);
    stn_text_printf(text, "{\"source_key\":\"%s\"", hex);
    stn_json_key(text, "arch"), stn_json_string(text, arch);
    stn_json_key(text, "kernel"), stn_json_string(text, kernel);
    stn_json_key(text, "compiler"), stn_json_string(text, compiler);
    stn_json_key(text, "bytes"), stn_text_printf(text, "%llu", (unsigned long long)bytes);
    stn_json_key(text, "ptx_bytes"), stn_text_printf(text, "%zu", entry->ptx_size);
    stn_json_key(text, "cubin_bytes"), stn_text_printf(text, "%zu}", entry->cubin_size);
}

static stn_status list_pack(const stn_pack *pack, bool json, stn_text *text, stn_error *error) {
    for (size_t i = 0; i < stn_pack_count(pack); i++) {
        stn_key key;
        stn_entry entry;
        STN_TRY(stn_pack_read(pack, i, &key, &entry, error));
        show_entry(&entry, &entry.source, stn_pack_entry_bytes(pack, i), json, text);
        stn_entry_clear(&entry);
    }
    return STN_OK;
}

static stn_status list(const pack_settings *settings, const char *const *paths, stn_error *error) {
    stn_text text = STN_TEXT_EMPTY;
    char *data = NULL;
    stn_status status = STN_OK;
    if (settings->report.json) stn_text_printf(&text, "[");
    for (; *paths && status == STN_OK; paths++) {
        stn_pack *pack;
        STN_TRY_GOTO(status, stn_pack_open(*paths, &pack, error), done);
        status = list_pack(pack, settings->report.json, &text, error);
        stn_pack_close(pack);
    }
    if (settings->report.json) stn_text_printf(&text, "]\n");
    if (status == STN_OK) status = stn_text_take(&text, &data, error);
    if (data) stn_text_sanitize(data);
    if (status == STN_OK && !settings->report.quiet) fputs(data, stdout);
done:
    stn_text_clear(&text);
    stn_text_free(data);
    return status;
}

/* Checks every byte against the checksums, and every entry's text against its key. */
static stn_status verify_pack(const stn_context *context, const stn_pack *pack, stn_error *error) {
    for (size_t i = 0; i < stn_pack_count(pack); i++) {
        stn_key key;
        stn_entry entry;
        stn_error why = {0};
        STN_TRY(stn_pack_read(pack, i, &key, &entry, error));
        const stn_status status = stn_kernel_verify(context, &key, &entry, &why);
        stn_entry_clear(&entry);
        if (status != STN_OK)
            return stn_fail(error, status, "entry %zu of the pack %s: %s", i, stn_pack_name(pack), why.message);
    }
    return STN_OK;
}

static stn_status verify_all(const pack_settings *settings, const stn_context *context, const char *const *paths,
                             stn_error *error) {
    char key[STN_PUBLIC_KEY_TEXT];
    if (settings->trust) STN_TRY(stn_signature_read_key(settings->trust, key, error));
    for (size_t i = 0; paths[i]; i++) {
        stn_pack *pack;
        if (settings->trust)
            STN_TRY(stn_pack_open_signed(paths[i], key, &pack, error));
        else
            STN_TRY(stn_pack_open(paths[i], &pack, error));
        stn_status status = verify_pack(context, pack, error);
        if (status == STN_OK && settings->report.json)
            printf("%s{\"pack\":%zu,\"kernels\":%zu,\"good\":true}%s", i ? "," : "[", i, stn_pack_count(pack),
                   paths[i + 1] ? "" : "]\n");
        else if (status == STN_OK && !settings->report.quiet)
            printf("%s: %zu kernels, all good%s\n", paths[i], stn_pack_count(pack),
                   settings->trust ? ", signed by the trusted key" : "");
        stn_pack_close(pack);
        if (status != STN_OK) return status;
    }
    return STN_OK;
}

static stn_status verify(const pack_settings *settings, const char *const *paths, stn_error *error) {
    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    stn_context *context;
    options.device = STN_DEVICE_HOST, options.cache_dir = ":memory:";
    STN_TRY(stn_context_create(&options, &context, error));
    const stn_status status = verify_all(settings, context, paths, error);
    stn_context_destroy(context);
    return status;
}

/* ---- merge ----------------------------------------------------------------------------------- */

static stn_status merge(const pack_settings *settings, const char *const *paths, stn_error *error) {
    stn_pack_writer *writer = NULL;
    void *data = NULL;
    size_t size, count = 0;
    stn_status status = STN_OK;
    if (!settings->options.out)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "-o is missing: stentor pack merge -o OUT.stnpack A B ...");
    STN_TRY_GOTO(status, stn_pack_writer_create(&writer, error), done);
    for (; *paths; paths++) {
        stn_pack *pack;
        STN_TRY_GOTO(status, stn_pack_open(*paths, &pack, error), done);
        status = stn_pack_add_pack(writer, pack, error);
        stn_pack_close(pack);
        if (status != STN_OK) goto done;
    }
    count = stn_pack_writer_count(writer);
    STN_TRY_GOTO(status, stn_pack_finish(writer, &data, &size, error), done);
    STN_TRY_GOTO(status, stn_output_write(settings->options.out, data, size, error), done);
    if (settings->report.json)
        printf("{\"kernels\":%zu,\"bytes\":%zu}\n", count, size);
    else if (!settings->report.quiet)
        printf("%s: %zu kernels\n", settings->options.out, count);
done:
    free(data);
    stn_pack_writer_destroy(writer);
    return status;
}

/* ---- keys and signatures --------------------------------------------------------------------- */

/* Writes a secret key to a new file that only its owner can read. */
static stn_status write_secret(const char *path, const char *text, stn_error *error) {
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    const size_t size = strlen(text);
    const ssize_t written = fd >= 0 ? write(fd, text, size) : -1;
    if (written >= 0 && (size_t)written < size) errno = ENOSPC;
    const bool good = written == (ssize_t)size && !fsync(fd);
    const int why = errno;
    if (fd >= 0 && (close(fd) || !good)) {
        unlink(path);
        return stn_fail(error, STN_ERROR_IO, "cannot write '%s': %s", path, strerror(why));
    }
    return good ? STN_OK
                : stn_fail(error, STN_ERROR_IO, "cannot write '%s': %s%s", path, strerror(why),
                           why == EEXIST ? "; keys are never replaced: name another file" : "");
}

static stn_status keys(const pack_settings *settings, stn_error *error) {
    char public_key[STN_PUBLIC_KEY_TEXT + 1], *secret = NULL, *name = NULL;
    stn_text text = STN_TEXT_EMPTY;
    stn_status status;
    if (!settings->options.out)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "-o is missing: stentor pack keys -o maker.key");
    STN_TRY_GOTO(status, stn_signature_make_keys(&text, public_key, error), done);
    STN_TRY_GOTO(status, stn_text_take(&text, &secret, error), done);
    if (asprintf(&name, "%s.pub", settings->options.out) < 0) {
        name = NULL;
        status = stn_fail_memory(error, "a file name", strlen(settings->options.out));
        goto done;
    }
    if (access(name, F_OK) == 0) {
        status = stn_fail(error, STN_ERROR_IO, "'%s' exists; keys are never replaced: name another file", name);
        goto done;
    }
    STN_TRY_GOTO(status, write_secret(settings->options.out, secret, error), done);
    strcat(public_key, "\n");
    status = stn_output_write(name, public_key, strlen(public_key), error);
    if (status != STN_OK) {
        unlink(settings->options.out);
        goto done;
    }
    public_key[STN_PUBLIC_KEY_TEXT - 1] = '\0';
    if (settings->report.json)
        printf("{\"public_key\":\"%s\"}\n", public_key);
    else if (!settings->report.quiet)
        printf("%s\n", public_key);
done:
    stn_text_clear(&text);
    stn_text_free(secret);
    free(name);
    return status;
}

static stn_status sign_one(const pack_settings *settings, const char *path, stn_error *error) {
    char *bytes = NULL, *signature = NULL, *name = NULL;
    size_t size = 0;
    stn_text text = STN_TEXT_EMPTY;
    stn_pack *pack = NULL;
    stn_status status;
    STN_TRY_GOTO(status, stn_signature_read_file(path, &bytes, &size, error), done);
    STN_TRY_GOTO(status, stn_pack_open_memory(bytes, size, &pack, error), done);
    STN_TRY_GOTO(status, stn_pack_verify(pack, error), done); /* a damaged pack is not signed */
    STN_TRY_GOTO(status, stn_signature_make(settings->key, bytes, size, &text, error), done);
    STN_TRY_GOTO(status, stn_text_take(&text, &signature, error), done);
    if (asprintf(&name, "%s" STN_SIGNATURE_SUFFIX, path) < 0) {
        name = NULL;
        status = stn_fail_memory(error, "a file name", strlen(path));
        goto done;
    }
    STN_TRY_GOTO(status, stn_output_write(name, signature, strlen(signature), error), done);
    if (!settings->report.quiet && !settings->report.json) printf("%s\n", name);
done:
    stn_pack_close(pack);
    stn_text_clear(&text);
    stn_text_free(signature);
    free(bytes);
    free(name);
    return status;
}

static stn_status sign(const pack_settings *settings, const char *const *paths, stn_error *error) {
    size_t count = 0;
    if (!settings->key)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "--key is missing: stentor pack sign --key maker.key FILE.stnpack ...");
    for (; paths[count]; count++) STN_TRY(sign_one(settings, paths[count], error));
    if (settings->report.json) printf("{\"signed\":%zu}\n", count);
    return STN_OK;
}

stn_status cmd_pack(int argc, char **argv, stn_error *error) {
    pack_settings settings = {0};
    const char *positionals[MAX_PACKS + 2] = {NULL};
    cli_group groups[] = {CLI_GROUP("Packs", pack_options, &settings), CLI_REPORT_GROUP(&settings.report)};
    cli_usage usage = {
        .command = "pack",
        .summary = "build, check and sign packs: files of compiled kernels, for machines without NVRTC",
        .synopsis = "build|list|verify|merge|keys|sign [FILE.stnpack ...] [options]",
        .notes =
            "  stentor pack build --arch sm_80,sm_90,sm_100 --problems list.json -o kernels.stnpack\n"
            "  stentor pack list FILE...          list the content\n"
            "  stentor pack verify FILE...        check every byte\n"
            "  stentor pack merge -o OUT FILE...  merge packs; of equal kernels the first is kept\n"
            "  stentor pack keys -o maker.key     make a pair of keys: maker.key, maker.key.pub\n"
            "  stentor pack sign --key maker.key FILE...  write FILE.sig, which --trust checks\n"
            "A pack is used by 'stentor run' and 'stentor fft' with --pack FILE, or by stn_context_options.packs.\n",
        .groups = groups,
        .group_count = sizeof groups / sizeof *groups,
        .positionals = positionals,
        .positionals_max = MAX_PACKS + 1,
        .positionals_min = 1};
    bool help;
    STN_TRY(cli_parse(&usage, argc, argv, &help, error));
    if (help) return STN_OK;
    const char *const *files = positionals + 1;
    bool building = !strcmp(positionals[0], "build"), making = !strcmp(positionals[0], "keys");
    if ((building || making) && *files)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "'%s' is one argument too many: see 'stentor pack --help'",
                        *files);
    if ((building || making) && (settings.trust || settings.key))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "%s does not go with 'pack %s': see 'stentor pack --help'",
                        settings.trust ? "--trust" : "--key", positionals[0]);
    if (building) return build(&settings, error);
    if (making) return keys(&settings, error);
    stn_status (*const run)(const pack_settings *, const char *const *, stn_error *) =
        !strcmp(positionals[0], "list")     ? list
        : !strcmp(positionals[0], "verify") ? verify
        : !strcmp(positionals[0], "merge")  ? merge
        : !strcmp(positionals[0], "sign")   ? sign
                                            : NULL;
    if (!run)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "there is no 'pack %s': give build, list, verify, merge, keys or sign", positionals[0]);
    const char *const alone = settings.trust && run != verify ? "--trust"
                              : settings.key && run != sign   ? "--key"
                                                              : NULL;
    if (alone)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "%s does not go with 'pack %s': see 'stentor pack --help'",
                        alone, positionals[0]);
    if (!*files)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "no pack is named: stentor pack %s FILE.stnpack ...",
                        positionals[0]);
    return run(&settings, files, error);
}
