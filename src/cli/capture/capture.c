/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb capture: packets of running programs, as pcapng or text. */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/capture/bpf.h"
#include "cli/capture/filter.h"
#include "cli/capture/output.h"
#include "cli/capture/qp.h"
#include "cli/capture/segment.h"
#include "cli/capture/source.h"
#include "cli/capture/streams.h"
#include "cli/command/command.h"
#include "cli/command/module.h"

#define WHO	     "adverb capture"
#define SECOND_NS    1000000000ull
#define SNAPLEN_MOST 262144u
#define SNAPLEN_MIN  64u
#define TEXT_LIMIT   128 /* bytes of a packet that text may show, from the BTH on */
#define KB	     1000ull
#define MIB	     (1u << 20)
#define RING_BYTES   (16 * MIB) /* of each process */
#define PAUSE_MIN_NS 200000ull	/* between two rounds, while packets arrive */
#define PAUSE_MAX_NS 2000000ull /* ... and while none do */
#define FILES_MOST   10000
#define SECONDS_MOST (366u * 86400)

enum { KEY_CM = 256, KEY_SLOT, KEY_QP, KEY_BEFORE };

struct options {
	struct adv_sources_config sources;
	struct adv_output_config output;
	uint32_t count;	      /* frames; 0: no limit */
	uint64_t duration_ns; /* 0: no limit */
	char direction;	      /* 'i', 'o', 0: both */
	bool daemon_slot;     /* --slot 0 */
	char filter[ADV_FILTER_TEXT];
};

struct run {
	const struct options *options;
	const struct adv_bpf *bpf;
	struct adv_bpf_program *filter; /* NULL: accepts all */
	struct adv_sources *sources;
	struct adv_output *output;
	struct adv_segment_streams *streams;
	struct adv_capture_qp qp;
	bool failed;
	struct adv_capture_frame frame;
};

static volatile sig_atomic_t stopped;

static const struct argp_option argp_options[] = {
	{"write", 'w', "FILE", 0, "Write pcapng to FILE ('-': standard output); else print text",
	 0},
	{"pid", 'p', "PID", 0, "Capture the process with this id", 0},
	{"slot", KEY_SLOT, "N", 0, "Capture the process with this slot (adverb status); 0: adverbd",
	 0},
	{"qp", KEY_QP, "QPN", 0, "Capture the packets of this queue pair (adverb res qp)", 0},
	{"cm", KEY_CM, NULL, 0, "Capture adverbd: the connection manager's packets", 0},
	{"count", 'c', "N", 0, "End after N packets", 0},
	{"autostop", 'a', "duration:S", 0, "End after S seconds", 0},
	{"direction", 'Q', "in|out", 0, "Capture only received, or only sent packets", 0},
	{"snaplen", 's', "SIZE", 0, "Keep at most SIZE bytes of each frame", 0},
	{"ring-buffer", 'b', "KIND:N", 0,
	 "Write several files: begin another one after filesize:SIZE (a number without a unit "
	 "counts kB) or duration:S, and keep the newest files:N",
	 0},
	{"buffer-size", 'B', "SIZE", 0,
	 "Size of the buffer between each process and this command, rounded up to a power of 2 "
	 "(default 16M; a number without a unit counts MiB); if it is full, packets are dropped "
	 "and counted",
	 0},
	{"before-faults", KEY_BEFORE, NULL, 0,
	 "Capture between the transport and the fault plan, not between the plan and the network",
	 0},
	{"quiet", 'q', NULL, 0, "Do not report processes that are found, nor the sums", 0},
	{0},
};

/* ---- arguments ---- */

/* Reads a number from `least` to `most`. `base` 0: also hexadecimal. */
static uint32_t number_of(struct argp_state *state, const char *what, const char *arg,
			  uint32_t least, uint32_t most)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(arg, &end, 0);
	if (end == arg || *end || errno || *arg == '-' || value < least || value > most)
		argp_error(state, "%s: '%s' is not a number from %" PRIu32 " to %" PRIu32, what,
			   arg, least, most);
	return (uint32_t)value;
}

/* Returns the text behind "KIND:" in arg; NULL: it is of another kind. */
static const char *value_of_kind(const char *arg, const char *kind)
{
	size_t n = strlen(kind);

	return strncmp(arg, kind, n) == 0 && arg[n] == ':' ? arg + n + 1 : NULL;
}

static void parse_ring(struct argp_state *state, const char *arg, struct adv_output_config *o)
{
	const char *value;

	if ((value = value_of_kind(arg, "filesize")))
		o->file_bytes = adv_cli_size(state, "-b filesize", value, KB, 1, KB * UINT32_MAX);
	else if ((value = value_of_kind(arg, "duration")))
		o->file_ns = SECOND_NS * number_of(state, "-b duration", value, 1, SECONDS_MOST);
	else if ((value = value_of_kind(arg, "files")))
		o->files = number_of(state, "-b files", value, 1, FILES_MOST);
	else
		argp_error(state, "-b: '%s' is not filesize:SIZE, duration:S or files:N", arg);
}

static void parse_autostop(struct argp_state *state, const char *arg, struct options *o)
{
	const char *value = value_of_kind(arg, "duration");

	if (!value)
		argp_error(state, "-a: '%s' is not duration:S", arg);
	else
		o->duration_ns =
			SECOND_NS * number_of(state, "-a duration", value, 1, SECONDS_MOST);
}

static void parse_direction(struct argp_state *state, const char *arg, struct options *o)
{
	if (strcmp(arg, "in") == 0 || strcmp(arg, "out") == 0)
		o->direction = arg[0];
	else if (strcmp(arg, "inout") != 0)
		argp_error(state, "-Q: '%s' is not in, out or inout", arg);
}

/* Returns the size of a ring: that of the argument, rounded up to a power of 2. */
static uint32_t ring_size_of(struct argp_state *state, const char *arg)
{
	uint64_t bytes =
		adv_cli_size(state, "--buffer-size", arg, MIB, ADV_TAP_SIZE_MIN, ADV_TAP_SIZE_MAX);
	uint32_t size = ADV_TAP_SIZE_MIN;

	while (size < bytes)
		size *= 2;
	return size;
}

/* Appends a word of the filter. */
static void add_filter(struct argp_state *state, const char *word, struct options *o)
{
	size_t used = strlen(o->filter);
	int n = snprintf(o->filter + used, sizeof(o->filter) - used, "%s%s", used ? " " : "", word);

	if (n < 0 || (size_t)n >= sizeof(o->filter) - used)
		argp_error(state, "the filter is too long");
}

static void check_options(const struct options *o, struct argp_state *state)
{
	const struct adv_capture_choice *c = &o->sources.choice;
	const struct adv_output_config *out = &o->output;
	bool ring = out->file_bytes || out->file_ns;

	if (!!c->pid + !!c->slot + !!c->qpn > 1)
		argp_error(state, "--pid, --slot and --qp exclude each other");
	if ((ring || out->files) && (!out->file || strcmp(out->file, "-") == 0))
		argp_error(state, "-b needs -w with the name of a file");
	if (out->files && !ring)
		argp_error(state, "-b files:N needs -b filesize:SIZE or -b duration:S");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	struct adv_capture_choice *choice = &o->sources.choice;

	switch (key) {
	case 'w':
		o->output.file = arg;
		return 0;
	case 'p':
		choice->pid = adv_cli_number(state, "--pid", arg);
		return 0;
	case KEY_SLOT:
		choice->slot = number_of(state, "--slot", arg, 0, ADV_SLOTS - 1);
		choice->cm = choice->cm || choice->slot == ADV_SLOT_DAEMON;
		return 0;
	case KEY_QP:
		choice->qpn = number_of(state, "--qp", arg, 2, ADV_QPN_MASK);
		return 0;
	case KEY_CM:
		choice->cm = true;
		return 0;
	case 'c':
		o->count = adv_cli_number(state, "--count", arg);
		return 0;
	case 'a':
		parse_autostop(state, arg, o);
		return 0;
	case 'Q':
		parse_direction(state, arg, o);
		return 0;
	case 's':
		o->output.snaplen = (uint32_t)adv_cli_size(state, "--snaplen", arg, 1, SNAPLEN_MIN,
							   SNAPLEN_MOST);
		o->sources.limit = o->output.snaplen;
		return 0;
	case 'b':
		parse_ring(state, arg, &o->output);
		return 0;
	case 'B':
		o->sources.size = ring_size_of(state, arg);
		return 0;
	case KEY_BEFORE:
		o->sources.place = o->output.place = ADV_CAPTURE_ENGINE;
		return 0;
	case 'q':
		o->sources.quiet = true;
		return 0;
	case ARGP_KEY_ARG:
		add_filter(state, arg, o);
		return 0;
	case ARGP_KEY_END:
		check_options(o, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	argp_options,
	parse_option,
	"[FILTER...]",
	"Capture the packets of running programs on all their ways: UDP, shared memory, TCP of "
	"iWARP devices, and the connection manager's packets of adverbd. Packets appear as the "
	"RoCE v2 frames that they stand for, with the right ICRC. Without --pid, --slot, --qp or "
	"--cm: all programs of your "
	"user (root: all users), also those that start later. The programs never wait for this "
	"command. The payload is visible.\v"
	"FILTER is an expression of pcap-filter(7). It may also use the words 'opcode NAME', 'qp "
	"N' "
	"(the destination) and 'psn N'.\n\n"
	"Examples:\n"
	"  adverb capture\n"
	"  adverb capture -w trace.pcapng --pid 4711 -s 128\n"
	"  adverb capture -w - | tshark -r -\n"
	"  adverb capture -w ring.pcapng -b filesize:10000 -b files:5\n"
	"  adverb capture opcode ACKNOWLEDGE and host 192.0.2.1\n\n"
	"The command ends with SIGINT, SIGTERM, --count or --autostop; with --pid, --slot or --qp "
	"also when the process has ended.",
	NULL,
	NULL,
	NULL};

/* ---- packets ---- */

/* True if the frame is of the chosen direction and queue pair. */
static bool is_chosen(struct run *r, const struct adv_source *source,
		      const struct adv_tap_record *record)
{
	const struct options *o = r->options;
	const struct adv_capture_frame *f = &r->frame;

	if (o->direction && (o->direction == 'o') != f->out)
		return false;
	return !o->sources.choice.qpn || !source->slot ||
	       adv_capture_qp_has(&r->qp, adv_sources_control(r->sources), source->pid, record, f);
}

static bool passes_filter(const struct run *r)
{
	const struct adv_capture_frame *f = &r->frame;

	return !r->filter || r->bpf->accepts(r->filter, f->bytes, f->len, f->captured);
}

/* Writes the frame. False: it is the last one. */
static bool write_frame(struct run *r, const struct adv_source *source,
			const struct adv_tap_record *record, const uint8_t *data)
{
	const struct options *o = r->options;

	if (!adv_output_packet(r->output, source, record, data, &r->frame)) {
		r->failed = true;
		return false;
	}
	if (o->count && adv_output_packets(r->output) == o->count)
		stopped = 1;
	return !stopped;
}

/* Writes the segments that begin a connection. */
static bool write_starts(struct run *r, const struct adv_source *source,
			 const struct adv_tap_record *record, const uint8_t *data,
			 const struct adv_segment_place *place)
{
	for (unsigned i = 0; i < ADV_SEGMENT_STARTS; i++) {
		adv_segment_start(record, data, i, place, &r->frame);
		if (!write_frame(r, source, record, data))
			return false;
	}
	return true;
}

/* Writes the bytes of a connection. */
static bool take_segment(struct run *r, const struct adv_source *source,
			 const struct adv_tap_record *record, const uint8_t *data)
{
	const struct adv_output_config *o = &r->options->output;
	struct adv_segment_place place = {.skip = 0};
	struct adv_segment_stream *s = NULL;

	adv_segment_make(record, data, &place, o->snaplen, &r->frame);
	if (!is_chosen(r, source, record))
		return true;
	if (o->file) {
		s = adv_segment_streams_take(r->streams, source->index, adv_output_file(r->output),
					     record, data, &place);
		if (!s)
			return true;
	}
	if (!passes_filter(r))
		return true;
	if (s && adv_segment_stream_begins(s) && !write_starts(r, source, record, data, &place))
		return false;
	adv_segment_make(record, data, &place, o->snaplen, &r->frame);
	return write_frame(r, source, record, data);
}

/* Writes the frames of a record. */
static bool take_record(void *user, const struct adv_source *source,
			const struct adv_tap_record *record, const uint8_t *data)
{
	struct run *r = user;

	if (!adv_output_count(r->output, source, record)) {
		r->failed = true;
		return false;
	}
	if (record->flags & ADV_TAP_STREAM)
		return take_segment(r, source, record, data) && !stopped;
	for (unsigned i = 0; i <= record->more; i++)
		if (adv_capture_frame_make(record, data, i, r->options->output.snaplen,
					   &r->frame) &&
		    is_chosen(r, source, record) && passes_filter(r) &&
		    !write_frame(r, source, record, data))
			return false;
	return !stopped;
}

/* ---- the loop ---- */

static void handle_signal(int number)
{
	stopped = 1;
}

static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = handle_signal};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

/* True if the chosen process has ended. */
static bool is_over(const struct run *r)
{
	const struct adv_capture_choice *c = &r->options->sources.choice;

	return (c->pid || c->slot || c->qpn) && adv_sources_had_any(r->sources) &&
	       adv_sources_live(r->sources) == 0;
}

/* Captures until the end. */
static void capture_until_end(struct run *r)
{
	uint64_t start = adv_clock_ns(), pause = PAUSE_MIN_NS;
	uint64_t duration = r->options->duration_ns;
	struct timespec ts;

	while (!stopped && !r->failed) {
		adv_sources_look(r->sources);
		if (adv_sources_drain(r->sources, false, take_record, r)) {
			pause = PAUSE_MIN_NS;
		} else if (pause < PAUSE_MAX_NS) {
			pause += pause / 2;
		}
		if (!r->failed && !adv_output_flush(r->output))
			r->failed = true;
		if (adv_sources_refused(r->sources)) {
			r->failed = true;
			return;
		}
		if (is_over(r) || (duration && adv_clock_ns() - start >= duration))
			return;
		ts = adv_clock_timespec(pause);
		if (!stopped)
			(void)nanosleep(&ts, NULL);
	}
}

/* Reads what is left in the rings, and prints the sums. */
static void finish_capture(struct run *r)
{
	const struct adv_source *source;
	uint64_t dropped = 0;
	bool all = !(r->options->count && adv_output_packets(r->output) >= r->options->count);

	adv_sources_stop(r->sources);
	stopped = 0;
	if (all && !r->failed)
		(void)adv_sources_drain(r->sources, true, take_record, r);
	for (size_t i = 0; (source = adv_sources_get(r->sources, i)); i++) {
		uint64_t of_source = adv_source_dropped(source);

		dropped += of_source;
		adv_output_dropped(r->output, source, of_source);
	}
	if (!r->options->sources.quiet)
		fprintf(stderr,
			WHO ": %" PRIu64 " packets captured; %" PRIu64
			    " packets dropped because a buffer was full\n",
			adv_output_packets(r->output), dropped);
}

/* True after an error message, if the chosen process does not exist. */
static bool is_missing(struct run *r)
{
	const struct adv_capture_choice *c = &r->options->sources.choice;

	adv_sources_look(r->sources);
	if (adv_sources_get(r->sources, 0) || (!c->pid && !c->slot && !c->qpn))
		return false;
	if (c->pid)
		fprintf(stderr,
			WHO ": process %u has no slot; adverb status lists the processes with "
			    "slots\n",
			c->pid);
	else if (c->slot)
		fprintf(stderr, WHO ": no process has slot %u\n", c->slot);
	else
		fprintf(stderr, WHO ": no process has queue pair 0x%x\n", c->qpn);
	return true;
}

static int run_capture(struct run *r)
{
	int status = ADV_EXIT_FAILED;

	r->sources = adv_sources_create(&r->options->sources);
	if (!r->sources || is_missing(r))
		goto end;
	r->streams = adv_segment_streams_create();
	r->output = r->streams ? adv_output_open(&r->options->output) : NULL;
	if (!r->output)
		goto end;
	catch_signals();
	capture_until_end(r);
	finish_capture(r);
	if (adv_output_close(r->output) && !r->failed)
		status = 0;
end:
	adv_segment_streams_destroy(r->streams);
	adv_sources_destroy(r->sources);
	return status;
}

/* Compiles the filter of the options. Otherwise prints an error, sets the exit status and returns
 * false. */
static bool compile_filter(struct run *r, int *status)
{
	static const struct adv_module module = {ADV_BPF_MODULE, ADV_BPF_SYMBOL, "libpcap",
						 "libpcap0.8", "libpcap-dev"};
	char expanded[ADV_FILTER_TEXT], why[ADV_FILTER_WHY];

	*status = ADV_EXIT_FAILED;
	r->bpf = adv_module_load(WHO, &module);
	if (!r->bpf)
		return false;
	*status = ADV_EXIT_USAGE;
	if (adv_filter_expand(r->options->filter, expanded, why))
		r->filter = r->bpf->compile(expanded, why, sizeof(why));
	if (!r->filter)
		fprintf(stderr, WHO ": filter '%s': %s\n", r->options->filter, why);
	return r->filter != NULL;
}

int adv_capture_main(int argc, char **argv)
{
	struct options *o = calloc(1, sizeof(*o));
	struct run *r = calloc(1, sizeof(*r));
	int status = ADV_EXIT_FAILED;

	if (!o || !r)
		goto end;
	o->sources.size = RING_BYTES;
	o->output.snaplen = SNAPLEN_MOST;
	o->sources.limit = UINT32_MAX;
	r->options = o;
	status = ADV_EXIT_USAGE;
	if (adv_command_parse(&argp, argc, argv, 0, o) != 0)
		goto end;
	/* Text shows no payload; a filter may read it. */
	if (!o->output.file && !o->filter[0] && o->sources.limit > TEXT_LIMIT)
		o->sources.limit = TEXT_LIMIT;
	r->qp.qpn = o->sources.choice.qpn;
	if (o->filter[0] && !compile_filter(r, &status))
		goto end;
	status = run_capture(r);
end:
	if (r && r->filter)
		r->bpf->destroy(r->filter);
	free(r);
	free(o);
	return status;
}
