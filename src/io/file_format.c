/* See file_format.h: file formats by file extension and by magic bytes. */
#include "io/file_format.h"

#include <string.h>
#include <strings.h>

#include "base/error.h"

#define MAX_MAGICS 3

/* A file format that is not supported, and the Python code that converts it from and to .npy. */
typedef struct file_format {
    const char *name, *endings[6], *magic[MAX_MAGICS], *from, *to;
} file_format;

static const file_format formats[] = {
    {"CSV",
     {"csv", "tsv", "txt"},
     {NULL},
     "np.save('in.npy', np.loadtxt('in.csv', delimiter=','))",
     "np.savetxt('out.csv', np.load('out.npy'), delimiter=',')"},
    {"TIFF",
     {"tif", "tiff"},
     {"II*\0", "MM\0*", "II+\0"},
     "import tifffile; np.save('in.npy', tifffile.imread('in.tif'))",
     "import tifffile; tifffile.imwrite('out.tif', np.load('out.npy'))"},
    {"HDF5",
     {"h5", "hdf5", "hdf", "he5"},
     {"\x89HDF"},
     "import h5py; np.save('in.npy', h5py.File('in.h5')['NAME'][()])",
     "import h5py; h5py.File('out.h5', 'w')['NAME'] = np.load('out.npy')"},
    {"NPZ",
     {"npz"},
     {"PK\x03\x04"},
     "np.save('in.npy', np.load('in.npz')['NAME'])",
     "np.savez('out.npz', NAME=np.load('out.npy'))"},
    {"Zarr",
     {"zarr"},
     {NULL},
     "import zarr; np.save('in.npy', zarr.load('in.zarr'))",
     "import zarr; zarr.save('out.zarr', np.load('out.npy'))"},
    {"MATLAB",
     {"mat"},
     {"MATL"},
     "import scipy.io; np.save('in.npy', scipy.io.loadmat('in.mat')['NAME'])",
     "import scipy.io; scipy.io.savemat('out.mat', {'NAME': np.load('out.npy')})"},
    {"JPEG",
     {"jpg", "jpeg"},
     {"\xff\xd8\xff\xe0", "\xff\xd8\xff\xe1"},
     "from PIL import Image; np.save('in.npy', np.asarray(Image.open('in.jpg').convert('L')))",
     "from PIL import Image; Image.fromarray(np.load('out.npy').astype('u1')).save('out.jpg')"},
};
#define FORMATS (sizeof formats / sizeof *formats)

static const char *extension_of(const char *path) {
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    return dot && dot > base ? dot + 1 : "";
}

bool stn_file_extension_is(const char *path, const char *ending) { return strcasecmp(extension_of(path), ending) == 0; }

static const file_format *by_name(const char *path) {
    for (size_t i = 0; i < FORMATS; i++)
        for (size_t k = 0; k < 6 && formats[i].endings[k]; k++)
            if (stn_file_extension_is(path, formats[i].endings[k])) return &formats[i];
    return NULL;
}

static const file_format *by_bytes(const void *bytes, size_t size) {
    for (size_t i = 0; bytes && size >= 4 && i < FORMATS; i++)
        for (size_t k = 0; k < MAX_MAGICS && formats[i].magic[k]; k++)
            if (memcmp(bytes, formats[i].magic[k], 4) == 0) return &formats[i];
    return NULL;
}

bool stn_file_is_unsupported(const char *path, const void *bytes, size_t size) {
    return by_bytes(bytes, size) || by_name(path) || stn_file_extension_is(path, "raw") ||
           stn_file_extension_is(path, "bin");
}

stn_status stn_file_fail_unsupported(const char *path, const void *bytes, size_t size, stn_error *error) {
    const file_format *format = by_bytes(bytes, size);
    if (!format) format = by_name(path);
    if (!format)
        return stn_fail(error, STN_ERROR_FORMAT,
                        "'%s' does not say what is in it: read raw numbers with --shape 64x80 --dtype float32", path);
    return stn_fail(
        error, STN_ERROR_FORMAT,
        "'%s' is a %s file, and .npy, grey .png and raw numbers (--shape) are read: convert it with python3 -c "
        "\"import numpy as np; %s\"",
        path, format->name, format->from);
}

stn_status stn_file_format_of(const char *option, const char *path, stn_file_format *result, stn_error *error) {
    const char *ending = extension_of(path);
    const file_format *format = by_name(path);
    *result = stn_file_extension_is(path, "png")                                         ? STN_FILE_PNG
              : stn_file_extension_is(path, "raw") || stn_file_extension_is(path, "bin") ? STN_FILE_RAW
                                                                                         : STN_FILE_NPY;
    if (*result != STN_FILE_NPY || !*ending || stn_file_extension_is(path, "npy") || !strncmp(path, "/dev/", 5) ||
        !strncmp(path, "/proc/", 6))
        return STN_OK;
    if (!format)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "%s '%s': files ending in .%.20s are not written; give .npy, .png (grey) or .raw", option, path,
                        ending);
    return stn_fail(
        error, STN_ERROR_INVALID_ARGUMENT,
        "%s '%s': %s files are not written; write .npy and convert it with python3 -c \"import numpy as np; %s\"",
        option, path, format->name, format->to);
}

stn_status stn_file_check_picture(const char *option, const char *path, stn_error *error) {
    if (!*extension_of(path) || stn_file_extension_is(path, "png") || !strncmp(path, "/dev/", 5)) return STN_OK;
    return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "%s '%s': the picture is a PNG; end its name in .png", option,
                    path);
}
