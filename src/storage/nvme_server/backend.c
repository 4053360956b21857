/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nvme_server/backend.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/siphash.h"
#include "base/units.h"
#include "base/bytes.h"
#include "storage/nvme_server/backend_internal.h"
#include "storage/kit/memory.h"

#define RAM "ram:"
enum { LEAST = 4096 }; /* bytes */

static void make_uuid_v4(uint8_t uuid[ADV_NVME_UUID_LEN])
{
	uuid[6] = (uint8_t)((uuid[6] & 0x0f) | 0x40);
	uuid[8] = (uint8_t)((uuid[8] & 0x3f) | 0x80);
}

static bool fail_with(char why[ADV_NVME_BACKEND_WHY], const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static bool fail_with(char why[ADV_NVME_BACKEND_WHY], const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, ADV_NVME_BACKEND_WHY, format, args);
	va_end(args);
	return false;
}

static bool open_ram(struct adv_nvme_backend *b, const char *text, char *why)
{
	const char *size = text + strlen(RAM);
	char reason[ADV_UNITS_WHY];

	if (!adv_units_parse_plain(ADV_UNIT_BYTES, size, strlen(size), &b->size, reason))
		return fail_with(why, "'%s': %s", text, reason);
	if (b->size < LEAST)
		return fail_with(why, "'%s' has less than 4 KiB", text);
	b->memory = adv_kit_memory_map(b->size);
	if (!b->memory)
		return fail_with(why, "'%s': %s", text, strerror(errno));
	if (getrandom(b->uuid, sizeof(b->uuid), 0) != (ssize_t)sizeof(b->uuid))
		memset(b->uuid, 0x5a, sizeof(b->uuid));
	return true;
}

/* The same file has the same identifier after a restart, whatever name it is opened by. */
static void uuid_of_file(struct adv_nvme_backend *b, const struct stat *st)
{
	static const uint64_t low[2] = {0x6164766572620001, 1}, high[2] = {0x6164766572620002, 2};
	uint64_t id[2] = {st->st_dev, st->st_ino};

	if (b->block_device) {
		id[0] = st->st_rdev;
		id[1] = 0;
	}
	adv_put_le64(b->uuid, adv_siphash_words(low, id, 2));
	adv_put_le64(b->uuid + 8, adv_siphash_words(high, id, 2));
}

/* Opens the same file again with O_DIRECT. Whether it works there is known after a read. */
static int open_direct(int fd, bool read_only)
{
	char path[32], *page = aligned_alloc(ADV_NVME_DIRECT_ALIGN, ADV_NVME_DIRECT_ALIGN);
	int direct;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	direct = open(path, (read_only ? O_RDONLY : O_RDWR) | O_DIRECT | O_CLOEXEC);
	if (direct >= 0 && (!page || pread(direct, page, ADV_NVME_DIRECT_ALIGN, 0) < 0)) {
		close(direct);
		direct = -1;
	}
	free(page);
	return direct;
}

/* Reads the size of a file. 0 or errno. */
static int read_size(const struct adv_nvme_backend *b, uint64_t *size)
{
	struct stat st;

	if (b->block_device)
		return ioctl(b->fd, BLKGETSIZE64, size) == 0 ? 0 : errno;
	if (fstat(b->fd, &st) != 0)
		return errno;
	*size = (uint64_t)st.st_size;
	return 0;
}

static bool open_file(struct adv_nvme_backend *b, const struct adv_nvme_backend_config *config,
		      char *why)
{
	const char *path = config->path;
	struct stat st;
	int err;

	/* O_NONBLOCK: a FIFO does not block here. With io_uring the flag has an effect on files. */
	b->fd = open(path, (config->read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NONBLOCK);
	if (b->fd < 0 || fstat(b->fd, &st) != 0 || fcntl(b->fd, F_SETFL, 0) != 0)
		return fail_with(why, "cannot open '%s': %s", path, strerror(errno));
	b->block_device = S_ISBLK(st.st_mode);
	if (!b->block_device && !S_ISREG(st.st_mode))
		return fail_with(why, "'%s' is neither a regular file nor a block device", path);
	err = read_size(b, &b->size);
	if (err)
		return fail_with(why, "cannot read the size of '%s': %s", path, strerror(err));
	if (b->size < LEAST)
		return fail_with(why, "'%s' has less than 4 KiB; truncate -s SIZE makes it larger",
				 path);
	if (config->direct)
		b->direct_fd = open_direct(b->fd, config->read_only);
	uuid_of_file(b, &st);
	return true;
}

struct adv_nvme_backend *adv_nvme_backend_open(const struct adv_nvme_backend_config *config,
					       char why[ADV_NVME_BACKEND_WHY])
{
	struct adv_nvme_backend *b = calloc(1, sizeof(*b));
	bool ok;

	if (!b) {
		fail_with(why, "'%s': no memory", config->path);
		return NULL;
	}
	b->fd = b->direct_fd = -1;
	if (strncmp(config->path, RAM, strlen(RAM)) == 0)
		ok = open_ram(b, config->path, why);
	else
		ok = open_file(b, config, why);
	if (!ok) {
		adv_nvme_backend_close(b);
		return NULL;
	}
	make_uuid_v4(b->uuid);
	return b;
}

void adv_nvme_backend_close(struct adv_nvme_backend *b)
{
	adv_nvme_backend_deregister(b);
	if (b->memory)
		munmap(b->memory, b->size);
	if (b->fd >= 0)
		close(b->fd);
	if (b->direct_fd >= 0)
		close(b->direct_fd);
	free(b);
}

uint64_t adv_nvme_backend_size(const struct adv_nvme_backend *b)
{
	return b->size;
}

uint64_t adv_nvme_backend_refresh(struct adv_nvme_backend *b)
{
	if (b->fd >= 0)
		(void)read_size(b, &b->size);
	return b->size;
}

bool adv_nvme_backend_thin(const struct adv_nvme_backend *b)
{
	return !b->block_device;
}

bool adv_nvme_backend_direct(const struct adv_nvme_backend *b)
{
	return b->direct_fd >= 0;
}

void adv_nvme_backend_uuid(const struct adv_nvme_backend *b, uint8_t uuid[ADV_NVME_UUID_LEN])
{
	memcpy(uuid, b->uuid, ADV_NVME_UUID_LEN);
}
