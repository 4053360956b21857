/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb nvme read, write and verify. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "storage/nvme_cli/command.h"
#include "storage/nvme_cli/host_command.h"

/* --- verify --- */

struct verify {
	const struct adv_nvme_run *run;
	uint64_t seed;
	uint64_t next;	  /* relative offset */
	uint64_t checked; /* bytes */
	uint8_t opcode;
};

/* The contents of the bytes at a relative offset. */
static void make_contents(uint64_t seed, uint64_t offset, uint8_t *data, uint32_t length)
{
	struct adv_rng rng;

	adv_rng_seed(&rng, seed ^ (offset + 1) * 0x9e3779b97f4a7c15u);
	for (uint32_t i = 0; i < length; i += 8) {
		uint64_t word = adv_rng_next(&rng);

		memcpy(data + i, &word, 8);
	}
}

static int verify_fill(void *arg, uint64_t now, uint64_t *offset, uint32_t *length, uint8_t *data)
{
	struct verify *v = arg;

	if (v->next >= v->run->length)
		return -1;
	*offset = v->next;
	if (*length > v->run->length - v->next)
		*length = (uint32_t)(v->run->length - v->next);
	v->next += *length;
	if (v->opcode == ADV_NVME_WRITE)
		make_contents(v->seed, *offset, data, *length);
	else
		memset(data, 0, *length);
	return v->opcode;
}

static bool verify_done(void *arg, uint8_t opcode, uint64_t offset, uint32_t length,
			const uint8_t *data, uint64_t ns)
{
	struct verify *v = arg;
	uint8_t *wanted;
	bool same;

	if (opcode == ADV_NVME_WRITE)
		return true;
	wanted = malloc(length);
	if (!wanted)
		return false;
	make_contents(v->seed, offset, wanted, length);
	same = memcmp(wanted, data, length) == 0;
	free(wanted);
	v->checked += length;
	if (!same)
		fprintf(stderr, "the data at byte %llu is wrong\n",
			(unsigned long long)(v->run->offset + offset));
	return same;
}

int adv_nvme_verify_main(int argc, char **argv)
{
	struct adv_nvme_host_options o;
	struct adv_nvme_run run;
	struct verify v = {.run = &run, .opcode = ADV_NVME_WRITE};
	bool ok;

	adv_options_parse(&adv_nvme_verify_syntax, argc, argv, &o);
	v.seed = o.seed;
	if (!adv_nvme_run_open(&run, &o))
		return EXIT_FAILURE;
	ok = adv_nvme_run_commands(&run, verify_fill, verify_done, &v) && adv_nvme_run_flush(&run);
	v.next = 0;
	v.opcode = ADV_NVME_READ;
	ok = ok && adv_nvme_run_commands(&run, verify_fill, verify_done, &v);
	adv_nvme_run_close(&run);
	if (ok)
		printf("%llu bytes verified\n", (unsigned long long)v.checked);
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* --- read and write --- */

struct copy {
	const struct adv_nvme_run *run;
	int fd;
	uint64_t next;
	uint64_t total;
	bool failed;
};

static bool fail_copy(struct copy *c, const char *what)
{
	if (!c->failed)
		fprintf(stderr, "%s: %s\n", what, strerror(errno));
	c->failed = true;
	return false;
}

/* One command after the other reaches the file: commands of several slots end in any order. */
static int read_fill(void *arg, uint64_t now, uint64_t *offset, uint32_t *length, uint8_t *data)
{
	struct copy *c = arg;

	if (c->next >= c->run->length)
		return -1;
	*offset = c->next;
	if (*length > c->run->length - c->next)
		*length = (uint32_t)(c->run->length - c->next);
	c->next += *length;
	return ADV_NVME_READ;
}

static bool read_done(void *arg, uint8_t opcode, uint64_t offset, uint32_t length,
		      const uint8_t *data, uint64_t ns)
{
	struct copy *c = arg;

	while (length > 0) {
		ssize_t n = write(c->fd, data, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fail_copy(c, "output");
		data += n;
		length -= (uint32_t)n;
		c->total += (uint64_t)n;
	}
	return true;
}

/* Reads the input; a part of a block at its end is filled with zeros. */
static int write_fill(void *arg, uint64_t now, uint64_t *offset, uint32_t *length, uint8_t *data)
{
	struct copy *c = arg;
	uint64_t left = c->run->length - c->next, block = 1u << c->run->block_shift;
	uint32_t most = left < *length ? (uint32_t)left : *length, got = 0;

	while (got < most) {
		ssize_t n = read(c->fd, data + got, most - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			fail_copy(c, "input");
		if (n <= 0)
			break;
		got += (uint32_t)n;
	}
	if (got == 0 || c->failed)
		return -1;
	*offset = c->next;
	c->total += got;
	*length = (uint32_t)((got + block - 1) / block * block);
	memset(data + got, 0, *length - got);
	c->next += *length;
	return ADV_NVME_WRITE;
}

static bool write_done(void *arg, uint8_t opcode, uint64_t offset, uint32_t length,
		       const uint8_t *data, uint64_t ns)
{
	return true;
}

/* True if the input has more bytes. */
static bool has_more(int fd)
{
	uint8_t byte;

	return read(fd, &byte, 1) == 1;
}

static int copy_blocks(struct adv_nvme_host_options *o, bool writes)
{
	struct adv_nvme_run run;
	struct copy c = {.run = &run, .fd = writes ? STDIN_FILENO : STDOUT_FILENO};
	bool ok;

	if (o->file)
		c.fd = open(o->file, (writes ? O_RDONLY : O_WRONLY | O_CREAT | O_TRUNC) | O_CLOEXEC,
			    0666);
	if (c.fd < 0) {
		fprintf(stderr, "%s: %s\n", o->file, strerror(errno));
		return EXIT_FAILURE;
	}
	if (!writes) /* the output has the order of the namespace */
		o->depth = o->queues = 1;
	if (!adv_nvme_run_open(&run, o))
		return EXIT_FAILURE;
	ok = adv_nvme_run_commands(&run, writes ? write_fill : read_fill,
				   writes ? write_done : read_done, &c);
	ok = ok && !c.failed && (!writes || adv_nvme_run_flush(&run));
	if (ok && writes && c.next >= run.length && has_more(c.fd)) {
		fprintf(stderr, "the input does not fit: %llu bytes are written\n",
			(unsigned long long)c.total);
		ok = false;
	}
	adv_nvme_run_close(&run);
	if (o->file && close(c.fd) != 0)
		ok = fail_copy(&c, o->file);
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

int adv_nvme_read_main(int argc, char **argv)
{
	struct adv_nvme_host_options o;

	adv_options_parse(&adv_nvme_read_syntax, argc, argv, &o);
	return copy_blocks(&o, false);
}

int adv_nvme_write_main(int argc, char **argv)
{
	struct adv_nvme_host_options o;

	adv_options_parse(&adv_nvme_write_syntax, argc, argv, &o);
	return copy_blocks(&o, true);
}
