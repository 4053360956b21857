/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb fabric capture: frames at the end of a cable of the emulated fabric, as pcapng. */
#include "cli/fabric/fabric.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/capture/frame.h"
#include "cli/capture/pcapng.h"
#include "cli/fabric/call.h"
#include "nic/wire/frame.h"

#define WHO	     "adverb fabric capture"
#define SNAPLEN_MIN  64u
#define SNAPLEN_MOST 262144u
#define PAUSE_MS     2

struct options {
	const char *port;
	const char *file;
	uint32_t snaplen;
	uint32_t count; /* frames; 0: no limit */
};

struct capture {
	const struct options *options;
	int sock;
	FILE *file;
	struct adv_tap_memory *memory;
	uint32_t size;
	struct adv_tap_reader reader;
	struct adv_pcapng_sums sums;
	struct adv_capture_frame frame;
	uint8_t data[ADV_TAP_DATA_MAX];
};

static volatile sig_atomic_t stopped;

static void read_snaplen(struct argp_state *state, const char *option, const char *arg,
			 void *options)
{
	struct options *o = options;

	o->snaplen = (uint32_t)adv_cli_size(state, option, arg, 1, SNAPLEN_MIN, SNAPLEN_MOST);
}

static void check_options(struct argp_state *state, void *options)
{
	const struct options *o = options;

	if (!o->port || !o->file)
		argp_error(state, "expected PORT and -w FILE");
}

static const struct adv_option option_table[] = {
	{"write", 'w', "FILE", "Write pcapng to FILE ('-': standard output)",
	 ADV_OPTION_TEXT(file)},
	{"count", 'c', "N", "End after N frames", ADV_OPTION_NUMBER(count)},
	{"snaplen", 's', "SIZE", "Keep at most SIZE bytes of each frame", .read = read_snaplen},
};

static const struct adv_options syntax = {
	ADV_OPTION_TABLE(option_table),
	.about = "Capture the frames that a port of a switch (s1:4) or a host (h3) of the emulated "
		 "fabric sends and receives: those of programs and of the scenario's flows, with "
		 "the marks of the switches, CNPs, and PFC frames. Times are virtual. Ends with "
		 "SIGINT, SIGTERM, --count, or with the fabric.",
	.check = check_options, .args = "PORT", .file = offsetof(struct options, port)};

static void handle_signal(int number)
{
	stopped = 1;
}

/* ---- frames ---- */

/* Makes the frame of a record. A record without headers is a whole frame. */
static bool make_frame(struct capture *c, const struct adv_tap_record *r)
{
	struct adv_capture_frame *f = &c->frame;

	if (r->header_len)
		return adv_capture_frame_make(r, c->data, 0, c->options->snaplen, f);
	if (r->payload_len != ADV_FRAME_PFC_LEN || r->kept != ADV_FRAME_PFC_LEN)
		return false;
	memcpy(f->bytes, c->data, ADV_FRAME_PFC_LEN);
	f->len = f->captured = ADV_FRAME_PFC_LEN;
	f->out = r->flags & ADV_TAP_OUT;
	f->time = r->time;
	return true;
}

/* Writes the records in the ring: one full ring at most, because a busy port refills it. False
 * after an error message. */
static bool drain_ring(struct capture *c)
{
	uint64_t end = c->reader.tail + c->size;
	struct adv_tap_record r;

	while (!(c->options->count && c->sums.delivered >= c->options->count) &&
	       c->reader.tail < end && !ferror(c->file) && adv_tap_peek(&c->reader, &r)) {
		struct adv_pcapng_packet packet = {.lost = r.lost};

		adv_tap_take(&c->reader, &r, c->data);
		c->sums.dropped += r.lost;
		c->sums.received++;
		if (!make_frame(c, &r))
			continue;
		packet.time = c->frame.time;
		packet.out = c->frame.out;
		packet.bytes = c->frame.bytes;
		packet.captured = c->frame.captured;
		packet.len = c->frame.len;
		adv_pcapng_packet(c->file, &packet);
		c->sums.delivered++;
	}
	if (fflush(c->file) == 0 && !ferror(c->file))
		return true;
	fprintf(stderr, WHO ": write: %s\n", strerror(errno));
	return false;
}

/* ---- the capture ---- */

static bool map_ring(struct capture *c, int fd, uint32_t size)
{
	size_t len = adv_tap_memory_len(size);
	struct stat st;

	if (!adv_tap_size_fits(size) || fstat(fd, &st) < 0 || (uint64_t)st.st_size < len) {
		fprintf(stderr, WHO ": the emulator's answer is not valid\n");
		return false;
	}
	c->memory = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (c->memory == MAP_FAILED) {
		c->memory = NULL;
		perror(WHO ": mmap");
		return false;
	}
	c->size = size;
	adv_tap_reader_init(&c->reader, c->memory, size);
	return true;
}

/* Begins the capture. False after an error message. */
static bool begin_capture(struct capture *c)
{
	struct adv_port_message m = {.type = ADV_PORT_CAPTURE, .first = c->options->snaplen};
	int fd[ADV_CALL_FDS];
	bool good;

	snprintf(m.text, sizeof(m.text), "%s", c->options->port);
	c->sock = adv_call_begin(WHO, &m, -1, fd);
	if (c->sock < 0)
		return false;
	good = map_ring(c, fd[0], m.count);
	for (unsigned i = 0; i < ADV_CALL_FDS; i++)
		if (fd[i] >= 0)
			close(fd[i]);
	return good;
}

/* Captures until the end. False after an error message. */
static bool run_capture(struct capture *c)
{
	struct pollfd p = {.fd = c->sock, .events = POLLIN};
	bool over = false;

	while (!over) {
		/* The connection is readable when the emulator has ended. */
		over = stopped || poll(&p, 1, PAUSE_MS) > 0;
		if (!drain_ring(c))
			return false;
		if (c->options->count && c->sums.delivered >= c->options->count)
			return true;
	}
	return true;
}

static bool capture_to_file(struct capture *c)
{
	bool good;

	adv_pcapng_section(c->file, "adverb fabric");
	adv_pcapng_interface(c->file, c->options->port, "emulated fabric, virtual time",
			     c->options->snaplen);
	c->sums.start = adv_clock_day_ns();
	good = run_capture(c);
	if (good)
		adv_pcapng_statistics(c->file, 0, adv_clock_day_ns(), &c->sums);
	fprintf(stderr,
		WHO ": %" PRIu64 " frames captured; %" PRIu64
		    " dropped because the buffer was full\n",
		c->sums.delivered, c->sums.dropped);
	return good;
}

static int capture_until_end(struct capture *c)
{
	struct sigaction action = {.sa_handler = handle_signal, .sa_flags = SA_RESTART};
	bool good = false;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (begin_capture(c)) {
		c->file =
			strcmp(c->options->file, "-") == 0 ? stdout : fopen(c->options->file, "we");
		if (!c->file)
			fprintf(stderr, WHO ": %s: %s\n", c->options->file, strerror(errno));
		else
			good = capture_to_file(c);
		if (c->file && fclose(c->file) != 0)
			good = false;
	}
	if (c->memory)
		munmap(c->memory, adv_tap_memory_len(c->size));
	if (c->sock >= 0)
		close(c->sock);
	return good ? 0 : ADV_EXIT_FAILED;
}

int adv_fabric_capture_main(int argc, char **argv)
{
	struct options o = {.snaplen = SNAPLEN_MOST};
	struct capture *c;
	int status;

	if (!adv_command_read(&syntax, argc, argv, &o, NULL))
		return ADV_EXIT_USAGE;
	c = calloc(1, sizeof(*c));
	if (!c)
		return ADV_EXIT_FAILED;
	c->options = &o;
	c->sock = -1;
	status = capture_until_end(c);
	free(c);
	return status;
}
