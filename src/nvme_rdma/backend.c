/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nvme_rdma/backend.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
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
#include "nvme/bytes.h"
#include "nvme_rdma/backend_internal.h"

#define RAM "ram:"

static void make_uuid_v4(uint8_t uuid[ADV_NVME_UUID_LEN])
{
	uuid[6] = (uint8_t)((uuid[6] & 0x0f) | 0x40);
	uuid[8] = (uint8_t)((uuid[8] & 0x3f) | 0x80);
}

static bool open_ram(struct adv_nvme_backend *b, const char *text)
{
	const char *size = text + strlen(RAM);
	char why[ADV_UNITS_WHY];

	if (!adv_units_parse(ADV_UNIT_BYTES, size, strlen(size), &b->size, why)) {
		fprintf(stderr, "'%s': %s\n", text, why);
		return false;
	}
	if (b->size < 4096) {
		fprintf(stderr, "'%s' has less than 4 KiB\n", text);
		return false;
	}
	b->memory = mmap(NULL, b->size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (b->memory == MAP_FAILED) {
		b->memory = NULL;
		fprintf(stderr, "'%s': %s\n", text, strerror(errno));
		return false;
	}
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

static bool open_file(struct adv_nvme_backend *b, const char *text, bool read_only)
{
	struct stat st;

	b->fd = open(text, (read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC);
	if (b->fd < 0 || fstat(b->fd, &st) != 0) {
		fprintf(stderr, "cannot open '%s': %s\n", text, strerror(errno));
		return false;
	}
	if (S_ISBLK(st.st_mode)) {
		b->block_device = true;
		if (ioctl(b->fd, BLKGETSIZE64, &b->size) != 0) {
			fprintf(stderr, "cannot read the size of '%s': %s\n", text,
				strerror(errno));
			return false;
		}
	} else if (S_ISREG(st.st_mode)) {
		b->size = (uint64_t)st.st_size;
	} else {
		fprintf(stderr, "'%s' is neither a regular file nor a block device\n", text);
		return false;
	}
	if (b->size < 4096) {
		fprintf(stderr, "'%s' has less than 4 KiB; truncate -s SIZE makes it larger\n",
			text);
		return false;
	}
	uuid_of_file(b, &st);
	return true;
}

struct adv_nvme_backend *adv_nvme_backend_open(const char *text, bool read_only)
{
	struct adv_nvme_backend *b = calloc(1, sizeof(*b));
	bool ok;

	if (!b) {
		fprintf(stderr, "'%s': no memory\n", text);
		return NULL;
	}
	b->fd = -1;
	if (strncmp(text, RAM, strlen(RAM)) == 0)
		ok = open_ram(b, text);
	else
		ok = open_file(b, text, read_only);
	if (!ok) {
		adv_nvme_backend_close(b);
		return NULL;
	}
	make_uuid_v4(b->uuid);
	return b;
}

void adv_nvme_backend_close(struct adv_nvme_backend *b)
{
	if (b->memory)
		munmap(b->memory, b->size);
	if (b->fd >= 0)
		close(b->fd);
	free(b);
}

uint64_t adv_nvme_backend_size(const struct adv_nvme_backend *b)
{
	return b->size;
}

bool adv_nvme_backend_thin(const struct adv_nvme_backend *b)
{
	return !b->block_device;
}

void adv_nvme_backend_uuid(const struct adv_nvme_backend *b, uint8_t uuid[ADV_NVME_UUID_LEN])
{
	memcpy(uuid, b->uuid, ADV_NVME_UUID_LEN);
}
