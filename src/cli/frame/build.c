/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb frame build: builds frames from text. */
#include "cli/frame/frame.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/frame/input.h"
#include "cli/frame/pcap.h"
#include "cli/frame/text.h"

struct options {
	const char *input;
	const char *pcap;
	char *words; /* words of the command line, separated by blanks */
	size_t words_len;
};

/* A frame, and the file to which it is written. */
struct output {
	FILE *pcap;
	uint64_t frames;
	struct adv_frame_text text;
	uint8_t frame[ADV_FRAME_BYTES_MAX];
};

static void add_word(struct argp_state *state, const char *word, void *options)
{
	struct options *o = options;
	size_t n = strlen(word);
	char *more = realloc(o->words, o->words_len + n + 2);

	if (!more)
		argp_failure(state, ADV_EXIT_FAILED, ENOMEM, "%s", word);
	memcpy(more + o->words_len, word, n);
	more[o->words_len + n] = ' ';
	o->words = more;
	o->words_len += n + 1;
}

static void check_options(struct argp_state *state, void *options)
{
	const struct options *o = options;

	if (!o->input == !o->words)
		argp_error(state, "either fields or --input is needed");
}

static const struct adv_option option_table[] = {
	{"input", 'i', "FILE", "Read the frames from a file ('-': standard input), one a line",
	 ADV_OPTION_TEXT(input)},
	{"pcap", 'w', "FILE", "Write a capture ('-': standard output) instead of hexadecimal text",
	 ADV_OPTION_TEXT(pcap)},
};

static const struct adv_options syntax = {
	ADV_OPTION_TABLE(option_table),
	.about = "Build RoCE frames from their fields, and write them in hexadecimal, one a line. "
		 "The command computes ICRC and checksums if they are not given. src, dst and op "
		 "are needed; roce=1 selects RoCE v1. The output of 'adverb frame dissect "
		 "--fields' builds the same bytes again.\v"
		 "Example:\n"
		 "  adverb frame build src=192.0.2.1 dst=192.0.2.2 op=RC_SEND_ONLY dest-qp=0x12 "
		 "psn=7 payload=68656c6c6f",
	.check = check_options, .args = "[FIELD=VALUE...]", .read = add_word};

static void write_hex(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		printf("%02x", p[i]);
	putchar('\n');
}

/* Builds and writes one frame. On failure, prints an error and returns false. The error has `where`
 * if that is not empty. */
static bool build_frame(struct output *out, const char *where, const char *text, size_t len)
{
	char why[ADV_FRAME_WHY];
	size_t n = 0;

	if (adv_frame_text_parse(&out->text, text, len, why))
		n = adv_frame_text_build(&out->text, out->frame, sizeof(out->frame), why);
	if (n == 0) {
		fprintf(stderr, "adverb frame build: %s%s%s\n", where, *where ? ": " : "", why);
		return false;
	}
	if (out->pcap)
		adv_pcap_write(out->pcap, out->frames, out->frame, n);
	else
		write_hex(out->frame, n);
	out->frames++;
	return true;
}

static bool is_empty(const char *s, size_t len)
{
	size_t n = strspn(s, " \t\r");

	return n >= len || s[n] == '#';
}

static bool build_line(void *user, const char *where, const char *line, size_t len)
{
	return is_empty(line, len) || build_frame(user, where, line, len);
}

static bool build_all(struct output *out, const struct options *o)
{
	size_t len;
	char *text;
	bool good;

	if (o->words)
		return build_frame(out, "", o->words, o->words_len);
	text = adv_input_read_file("adverb frame build", o->input, &len);
	good = text && adv_input_each_line(o->input, text, len, build_line, out);
	free(text);
	return good;
}

/* True if all output was written. */
static bool close_output(FILE *f, const char *name)
{
	bool good = fflush(f) == 0 && !ferror(f);

	if (f != stdout && fclose(f) != 0)
		good = false;
	if (!good)
		fprintf(stderr, "adverb frame build: %s: %m\n", name);
	return good;
}

int adv_frame_build_main(int argc, char **argv)
{
	struct options o = {.input = NULL};
	struct output *out = calloc(1, sizeof(*out));
	int status = ADV_EXIT_FAILED;

	if (!adv_command_read(&syntax, argc, argv, &o, NULL) || !out)
		goto end;
	if (o.pcap) {
		out->pcap = strcmp(o.pcap, "-") == 0 ? stdout : fopen(o.pcap, "wb");
		if (!out->pcap) {
			fprintf(stderr, "adverb frame build: %s: %m\n", o.pcap);
			goto end;
		}
		adv_pcap_write_head(out->pcap);
	}
	status = build_all(out, &o) ? 0 : ADV_EXIT_USAGE;
	if (!close_output(out->pcap ? out->pcap : stdout, o.pcap ? o.pcap : "standard output"))
		status = ADV_EXIT_FAILED;
end:
	free(o.words);
	free(out);
	return status;
}
