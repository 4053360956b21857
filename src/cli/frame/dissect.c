/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb frame dissect: prints frames as text. */
#include "cli/frame/frame.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cli/frame/input.h"
#include "cli/frame/pcap.h"
#include "cli/frame/text.h"
#include "cli/command/json.h"

#define WHO "adverb frame dissect"

enum style { TREE, FIELDS, JSON };

struct options {
	const char *file;
	const char *hex;
	enum style style;
};

struct output {
	enum style style;
	bool some; /* JSON: at least one frame was written */
	uint64_t frames;
	uint64_t roce;
	uint64_t wrong_icrc;
	uint64_t damaged;
	struct adv_frame_text text;
	uint8_t frame[ADV_FRAME_BYTES_MAX]; /* a frame given in hexadecimal */
};

static void choose_style(struct argp_state *state, const char *option, const char *arg,
			 void *options)
{
	struct options *o = options;

	o->style = strcmp(option, "--json") == 0 ? JSON : FIELDS;
}

static void check_options(struct argp_state *state, void *options)
{
	const struct options *o = options;

	if (!o->file == !o->hex)
		argp_error(state, "either a file or --hex is needed");
}

static const struct adv_option option_table[] = {
	{"hex", 'x', "BYTES", "Dissect this frame in hexadecimal, instead of a file",
	 ADV_OPTION_TEXT(hex)},
	{"fields", 'f', NULL, "Write each frame as a line of fields for 'adverb frame build'",
	 .read = choose_style},
	{"json", 'j', NULL, "Write JSON", .read = choose_style},
};

static const struct adv_options syntax = {
	ADV_OPTION_TABLE(option_table),
	.about = "Show the fields of RoCE frames, v1 and v2, and whether their ICRC is right. The "
		 "file ('-': standard input) is a capture (pcap or pcapng) of Ethernet or of all "
		 "interfaces (tcpdump -i any), or text with one frame in hexadecimal a line. The "
		 "command skips frames that are not RoCE.\vExit status 1: an ICRC is wrong, a "
		 "frame is malformed or cut off, or there is no RoCE frame.",
	.check = check_options, .args = "[FILE]", .file = offsetof(struct options, file)};

static const char *error_text(enum adv_frame_error error)
{
	return error == ADV_FRAME_TRUNCATED ? "cut off: the frame is shorter than its headers say"
					    : "malformed: the IP, UDP and BTH headers are "
					      "incomplete or contradict each other";
}

/* Writes an element of the JSON array "frames". Each frame is written at once, since a capture may
 * have more frames than memory can hold as objects. */
static void print_element(const struct output *out, struct json_object *frame)
{
	fputs(out->some ? ",\n  " : "\n  ", stdout);
	adv_json_print_line(stdout, frame);
}

static struct json_object *frame_object(const struct output *out)
{
	struct json_object *o = adv_json_object();

	adv_json_add_number(o, "frame", out->frames);
	return o;
}

/* Reports a frame that begins like RoCE but is damaged. */
static void report_damaged(struct output *out, const char *why)
{
	struct json_object *o;

	out->damaged++;
	if (out->style == JSON) {
		o = frame_object(out);
		adv_json_add_text(o, "error", why);
		print_element(out, o);
	} else if (out->style == TREE) {
		printf("%sframe %" PRIu64 ": %s\n", out->some ? "\n" : "", out->frames, why);
	} else {
		fprintf(stderr, WHO ": frame %" PRIu64 ": %s\n", out->frames, why);
	}
	out->some = true;
}

static void print_frame(struct output *out, size_t len, bool good_icrc)
{
	struct json_object *o;

	switch (out->style) {
	case JSON:
		o = frame_object(out);
		adv_json_add_number(o, "bytes", len);
		adv_frame_text_add_json(&out->text, good_icrc, o);
		print_element(out, o);
		break;
	case TREE:
		printf("%sframe %" PRIu64 ": %zu bytes\n", out->some ? "\n" : "", out->frames, len);
		adv_frame_text_print_tree(&out->text, good_icrc, stdout);
		break;
	default:
		adv_frame_text_print(&out->text, stdout);
	}
	out->some = true;
}

static void dissect_frame(struct output *out, const uint8_t *frame, size_t len, bool whole)
{
	enum adv_frame_error error;
	bool good_icrc = false;

	out->frames++;
	error = adv_frame_text_read(&out->text, frame, len, &good_icrc);
	if (error == ADV_FRAME_NOT_ROCE)
		return;
	if (error) {
		report_damaged(out, whole ? error_text(error) : "cut off by the capture");
		return;
	}
	out->roce++;
	out->wrong_icrc += !good_icrc;
	print_frame(out, len, good_icrc);
}

/* Dissects all frames of a capture. If the data is no capture, or is damaged, prints an error and
 * returns false. */
static bool dissect_capture(struct output *out, const char *name, uint8_t *data, size_t len)
{
	char why[ADV_PCAP_WHY];
	const uint8_t *frame;
	struct adv_pcap p;
	size_t frame_len;
	bool whole;

	if (!adv_pcap_open(&p, data, len, why)) {
		fprintf(stderr, WHO ": %s: %s\n", name, why);
		return false;
	}
	while (adv_pcap_next(&p, &frame, &frame_len, &whole, why))
		dissect_frame(out, frame, frame_len, whole);
	if (why[0])
		fprintf(stderr, WHO ": %s: %s\n", name, why);
	return !why[0];
}

static bool dissect_hex(struct output *out, const char *where, const char *s, size_t len)
{
	long n = adv_input_read_hex(s, len, out->frame, sizeof(out->frame));

	if (n < 0)
		fprintf(stderr,
			WHO ": %s: expected two hexadecimal digits a byte, %d bytes at most\n",
			where, ADV_FRAME_BYTES_MAX);
	else if (n > 0)
		dissect_frame(out, out->frame, (size_t)n, true);
	return n >= 0;
}

static bool dissect_line(void *user, const char *where, const char *line, size_t len)
{
	return (len && line[0] == '#') || dissect_hex(user, where, line, len);
}

static bool dissect_all(struct output *out, const struct options *o)
{
	size_t len;
	char *data;
	bool good;

	if (o->hex)
		return dissect_hex(out, "--hex", o->hex, strlen(o->hex));
	data = adv_input_read_file(WHO, o->file, &len);
	if (!data)
		return false;
	if (adv_pcap_is_capture((const uint8_t *)data, len))
		good = dissect_capture(out, o->file, (uint8_t *)data, len);
	else
		good = adv_input_each_line(o->file, data, len, dissect_line, out);
	free(data);
	return good;
}

static void print_sums(const struct output *out)
{
	struct json_object *o;

	if (out->style == JSON) {
		o = adv_json_object();
		adv_json_add_number(o, "frames", out->frames);
		adv_json_add_number(o, "roce", out->roce);
		adv_json_add_number(o, "wrong_icrc", out->wrong_icrc);
		adv_json_add_number(o, "damaged", out->damaged);
		printf("%s],\n \"sums\": ", out->some ? "\n " : "");
		adv_json_print_line(stdout, o);
		printf("}\n");
	} else if (out->style == TREE) {
		printf("%s%" PRIu64 " frames, %" PRIu64 " of RoCE: %" PRIu64
		       " with a wrong ICRC; %" PRIu64 " damaged\n",
		       out->some ? "\n" : "", out->frames, out->roce, out->wrong_icrc,
		       out->damaged);
	}
}

int adv_frame_dissect_main(int argc, char **argv)
{
	struct options o = {.file = NULL};
	struct output *out = calloc(1, sizeof(*out));
	int status = ADV_EXIT_FAILED;

	if (!adv_command_read(&syntax, argc, argv, &o, NULL) || !out)
		goto end;
	out->style = o.style;
	if (o.style == JSON)
		printf("{\"frames\": [");
	if (!dissect_all(out, &o))
		status = ADV_EXIT_USAGE;
	else if (out->roce && !out->wrong_icrc && !out->damaged)
		status = 0;
	print_sums(out);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		fprintf(stderr, WHO ": the result cannot be written: %m\n");
		status = ADV_EXIT_FAILED;
	}
end:
	free(out);
	return status;
}
