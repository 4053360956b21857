/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/capture/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/capture/pcapng.h"
#include "cli/capture/segment.h"
#include "cli/command/command.h"

#define NAME_MOST   4096
#define TEXT_MOST   200
#define SECOND_NS   1000000000u
#define UNSEEN	    UINT32_MAX
#define INTERFACES  2 /* of a source: UDP or TCP, and shared memory */
#define FILE_BUFFER (1 << 20)

/* One way of one process. */
struct interface {
	uint32_t number; /* in the present section; UNSEEN: not described there yet */
	struct adv_pcapng_sums sums;
	uint64_t lost;	  /* packets that are missing before the next frame */
	uint64_t dropped; /* packets that are missing in all sections */
};

struct adv_output {
	struct adv_output_config config;
	FILE *file;
	char *buffer;
	char name[NAME_MOST];
	char **names; /* of the ring's files, oldest first; config.files entries */
	unsigned name_count;
	unsigned file_number; /* of the ring's present file, from 1; 0: it is no ring */
	uint64_t file_bytes;
	uint64_t file_start; /* ns of adv_clock_ns() */
	uint64_t section_start;
	uint32_t described;	     /* interfaces of the present section */
	struct interface *interface; /* INTERFACES for each source, by its index */
	size_t room;		     /* sources for which there is room */
	uint64_t packets;
	struct adv_frame_text text;
};

static bool fail_file(const struct adv_output *o, const char *what)
{
	fprintf(stderr, "adverb capture: cannot %s %s: %s\n", what,
		o->file == stdout ? "standard output" : o->name, strerror(errno));
	return false;
}

/* ---- files ---- */

/* Makes the name of the next file of a ring: FILE_00001_20260131120000.pcapng. */
static void name_next_file(struct adv_output *o)
{
	const char *file = o->config.file, *slash = strrchr(file, '/');
	const char *dot = strrchr(slash ? slash : file, '.');
	size_t stem = dot && dot > file ? (size_t)(dot - file) : strlen(file);
	time_t now = time(NULL);
	char stamp[32];
	struct tm tm;

	strftime(stamp, sizeof(stamp), "%Y%m%d%H%M%S", localtime_r(&now, &tm));
	snprintf(o->name, sizeof(o->name), "%.*s_%05u_%s%s", (int)stem, file, ++o->file_number,
		 stamp, file + stem);
}

/* Notes the name of the ring's new file, and deletes the oldest file if there are too many. */
static void keep_newest(struct adv_output *o)
{
	if (!o->names)
		return;
	if (o->name_count == o->config.files) {
		(void)unlink(o->names[0]);
		free(o->names[0]);
		memmove(o->names, o->names + 1, --o->name_count * sizeof(*o->names));
	}
	o->names[o->name_count] = strdup(o->name);
	if (o->names[o->name_count])
		o->name_count++;
}

static bool has_ring(const struct adv_output *o)
{
	return o->config.file_bytes || o->config.file_ns;
}

static bool open_file(struct adv_output *o)
{
	if (has_ring(o))
		name_next_file(o);
	else
		snprintf(o->name, sizeof(o->name), "%s", o->config.file);
	if (strcmp(o->name, "-") == 0)
		o->file = stdout;
	else
		o->file = fopen(o->name, "we");
	if (!o->file)
		return fail_file(o, "open");
	if (o->buffer)
		setvbuf(o->file, o->buffer, _IOFBF, FILE_BUFFER);
	keep_newest(o);
	for (size_t i = 0; i < o->room * INTERFACES; i++) {
		o->interface[i].number = UNSEEN;
		memset(&o->interface[i].sums, 0, sizeof(o->interface[i].sums));
	}
	o->described = 0;
	o->file_start = adv_clock_ns();
	o->section_start = adv_clock_day_ns();
	o->file_bytes = adv_pcapng_section(o->file, "adverb capture");
	return fflush(o->file) == 0 || fail_file(o, "write");
}

/* Writes the statistics of the interfaces and closes the file. */
static bool close_file(struct adv_output *o)
{
	uint64_t now = adv_clock_day_ns();
	bool good;

	for (size_t i = 0; i < o->room * INTERFACES; i++) {
		struct interface *p = &o->interface[i];

		if (p->number == UNSEEN)
			continue;
		p->sums.start = o->section_start;
		adv_pcapng_statistics(o->file, p->number, now, &p->sums);
	}
	good = fflush(o->file) == 0 && !ferror(o->file);
	if (!good)
		fail_file(o, "write");
	if (o->file != stdout && fclose(o->file) != 0)
		good = good && fail_file(o, "close");
	o->file = NULL;
	return good;
}

struct adv_output *adv_output_open(const struct adv_output_config *config)
{
	struct adv_output *o = calloc(1, sizeof(*o));
	bool good = o != NULL;

	if (!o) {
		fprintf(stderr, "adverb capture: %s\n", strerror(ENOMEM));
		return NULL;
	}
	o->config = *config;
	if (!config->file) {
		o->file = stdout;
		return o;
	}
	o->buffer = malloc(FILE_BUFFER);
	if (has_ring(o) && config->files)
		o->names = calloc(config->files, sizeof(*o->names));
	if (good && open_file(o))
		return o;
	free(o->names);
	free(o->buffer);
	free(o);
	return NULL;
}

bool adv_output_close(struct adv_output *o)
{
	bool good = true;

	if (!o)
		return true;
	if (o->config.file && o->file)
		good = close_file(o);
	else if (!o->config.file)
		good = fflush(stdout) == 0;
	for (unsigned i = 0; i < o->name_count; i++)
		free(o->names[i]);
	free(o->names);
	free(o->interface);
	free(o->buffer);
	free(o);
	return good;
}

unsigned adv_output_file(const struct adv_output *o)
{
	return o->file_number;
}

uint64_t adv_output_packets(const struct adv_output *o)
{
	return o->packets;
}

/* ---- interfaces ---- */

/* Returns the interface of a record; NULL: no memory. */
static struct interface *interface_of(struct adv_output *o, const struct adv_source *source,
				      const struct adv_tap_record *record)
{
	if (source->index >= o->room) {
		size_t room = 2 * (size_t)source->index + 16;
		struct interface *p =
			realloc(o->interface, room * INTERFACES * sizeof(*o->interface));

		if (!p)
			return NULL;
		for (size_t i = o->room * INTERFACES; i < room * INTERFACES; i++)
			p[i] = (struct interface){.number = UNSEEN};
		o->interface = p;
		o->room = room;
	}
	return &o->interface[source->index * INTERFACES + !!(record->flags & ADV_TAP_MEMORY)];
}

bool adv_output_count(struct adv_output *o, const struct adv_source *source,
		      const struct adv_tap_record *record)
{
	struct interface *p = interface_of(o, source, record);

	if (!p) {
		fprintf(stderr, "adverb capture: %s\n", strerror(ENOMEM));
		return false;
	}
	p->sums.received += record->lost + 1 + record->more;
	p->sums.dropped += record->lost;
	p->lost += record->lost;
	p->dropped += record->lost;
	return true;
}

void adv_output_dropped(struct adv_output *o, const struct adv_source *source, uint64_t dropped)
{
	struct interface *p =
		source->index < o->room ? &o->interface[source->index * INTERFACES] : NULL;

	if (!p)
		return;
	dropped -= p[0].dropped + p[1].dropped;
	if (p[0].number == UNSEEN)
		p++;
	p->sums.received += dropped;
	p->sums.dropped += dropped;
}

static const char *way_of(uint8_t flags)
{
	return flags & ADV_TAP_MEMORY ? "memory" : flags & ADV_TAP_STREAM ? "tcp" : "udp";
}

/* Describes the interface in the present section. */
static void describe_interface(struct adv_output *o, struct interface *p,
			       const struct adv_source *source, uint8_t flags)
{
	const char *way = way_of(flags);
	char name[TEXT_MOST], text[TEXT_MOST];

	if (source->slot)
		snprintf(name, sizeof(name), "slot%u-%s", source->slot, way);
	else
		snprintf(name, sizeof(name), "adverbd-%s", way);
	snprintf(text, sizeof(text), "%s, process %u, slot %u, %s%s", source->comm, source->pid,
		 source->slot,
		 flags & ADV_TAP_MEMORY	  ? "shared memory"
		 : flags & ADV_TAP_STREAM ? "TCP"
					  : "UDP",
		 o->config.place == ADV_CAPTURE_ENGINE ? ", before faults" : "");
	if (!source->slot)
		snprintf(text, sizeof(text), "adverbd, queue pair 1%s",
			 o->config.place == ADV_CAPTURE_ENGINE ? ", before faults" : "");
	p->number = o->described++;
	o->file_bytes += adv_pcapng_interface(o->file, name, text, o->config.snaplen);
}

/* ---- packets ---- */

static bool next_file(struct adv_output *o)
{
	return close_file(o) && open_file(o);
}

static bool is_file_over(const struct adv_output *o, uint64_t now)
{
	return (o->config.file_bytes && o->file_bytes >= o->config.file_bytes) ||
	       (o->config.file_ns && now - o->file_start >= o->config.file_ns);
}

static bool write_pcapng(struct adv_output *o, struct interface *p, const struct adv_source *source,
			 const struct adv_tap_record *record, const struct adv_capture_frame *frame)
{
	struct adv_pcapng_packet packet = {
		.time = frame->time,
		.out = frame->out,
		.bytes = frame->bytes,
		.captured = frame->captured,
		.len = frame->len,
	};

	if (p->number == UNSEEN)
		describe_interface(o, p, source, record->flags);
	packet.interface = p->number;
	packet.lost = p->lost;
	if (frame->rebuilt)
		packet.comment = "Not captured: rebuilt from what the two ends agreed on.";
	else if (record->flags & ADV_TAP_UNREAD)
		packet.comment = "The receiver did not read the payload from the sender's memory.";
	o->file_bytes += adv_pcapng_packet(o->file, &packet);
	p->sums.delivered += !frame->rebuilt;
	if (ferror(o->file))
		return fail_file(o, "write");
	return !o->config.file_bytes || o->file_bytes < o->config.file_bytes || next_file(o);
}

static bool write_text(struct adv_output *o, const struct adv_source *source,
		       const struct adv_tap_record *record, const uint8_t *data,
		       const struct adv_capture_frame *frame)
{
	time_t seconds = (time_t)(frame->time / SECOND_NS);
	char stamp[32];
	struct tm tm;
	bool good;

	strftime(stamp, sizeof(stamp), "%H:%M:%S", localtime_r(&seconds, &tm));
	printf("%s.%09u %s[%u] %s %s ", stamp, (unsigned)(frame->time % SECOND_NS), source->comm,
	       source->pid, frame->out ? "out" : "in", way_of(record->flags));
	/* Bytes that are not known are zeroes, and are not printed. */
	if (record->flags & ADV_TAP_STREAM)
		adv_segment_print(record, data, stdout);
	else if (adv_frame_text_read(&o->text, frame->bytes, frame->len, &good) == ADV_FRAME_OK)
		adv_frame_text_print_packet(&o->text, record->icrc_flip == 0, stdout);
	else
		printf("%zu bytes\n", frame->len);
	return !ferror(stdout) || fail_file(o, "write");
}

bool adv_output_packet(struct adv_output *o, const struct adv_source *source,
		       const struct adv_tap_record *record, const uint8_t *data,
		       const struct adv_capture_frame *frame)
{
	struct interface *p = interface_of(o, source, record);
	bool good;

	if (!p)
		return false;
	o->packets += !frame->rebuilt;
	if (!o->config.file && p->lost)
		printf("-- %" PRIu64 " packets of %s[%u] dropped: the ring was full\n", p->lost,
		       source->comm, source->pid);
	good = o->config.file ? write_pcapng(o, p, source, record, frame)
			      : write_text(o, source, record, data, frame);
	p->lost = 0;
	return good;
}

bool adv_output_flush(struct adv_output *o)
{
	if (o->config.file && is_file_over(o, adv_clock_ns()))
		return next_file(o);
	return fflush(o->file) == 0 || fail_file(o, "write");
}
