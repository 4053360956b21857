/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes the comparison of a sweep: text, JSON, CSV, and an HTML page. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/command/json.h"
#include "cli/sim/sweep.h"

#define CASE 512

/* Writes the values of a case, "key=value key=value", without the seed. */
static const char *case_name(const struct adv_sweep *s, uint32_t run, char name[CASE])
{
	size_t n = 0;

	name[0] = '\0';
	for (unsigned i = 0; i < s->axes; i++)
		if (!s->axis[i].is_seed && n < CASE)
			n += (size_t)snprintf(name + n, CASE - n, "%s%s", n ? " " : "",
					      adv_sweep_set(s, run, i));
	return n ? name : "all runs";
}

/* Writes a value: whole numbers without a point; "-" for none. */
static const char *number_text(double v, char text[32])
{
	if (isnan(v))
		return "-";
	snprintf(text, 32, v == floor(v) ? "%.0f" : "%.4f", v);
	return text;
}

/* ---- text ---- */

bool adv_sweep_print_text(const struct adv_sweep *s)
{
	char name[CASE], median[32], low[32], high[32];

	printf("%u runs, %u of each case; median [95 %% confidence interval of the median]\n",
	       s->runs, s->seeds);
	for (unsigned m = 0; m < s->metrics; m++) {
		printf("\n%s\n", s->metric[m]);
		for (uint32_t run = 0; run < s->runs; run += s->seeds) {
			struct adv_sweep_summary sum;

			if (!adv_sweep_summarize(s, run, m, &sum))
				return false;
			printf("  %-44s %16s [%s, %s]\n", case_name(s, run, name),
			       number_text(sum.median, median), number_text(sum.low, low),
			       number_text(sum.high, high));
		}
	}
	return true;
}

/* ---- JSON ---- */

static void add_value(struct json_object *to, const char *key, double v)
{
	adv_json_add(to, key, isnan(v) ? NULL : json_object_new_double(v));
}

static bool add_case(const struct adv_sweep *s, uint32_t run, struct json_object *list)
{
	struct json_object *o = adv_json_object(), *set, *metrics;

	adv_json_append(list, o);
	set = adv_json_add_array(o, "set");
	for (unsigned i = 0; i < s->axes; i++)
		if (!s->axis[i].is_seed)
			adv_json_append(set, adv_json_text(adv_sweep_set(s, run, i)));
	adv_json_add_number(o, "runs", s->seeds);
	metrics = adv_json_add_object(o, "metrics");
	for (unsigned m = 0; m < s->metrics; m++) {
		struct json_object *metric = adv_json_add_object(metrics, s->metric[m]);
		struct adv_sweep_summary sum;

		if (!adv_sweep_summarize(s, run, m, &sum))
			return false;
		add_value(metric, "median", sum.median);
		add_value(metric, "low", sum.low);
		add_value(metric, "high", sum.high);
	}
	return true;
}

bool adv_sweep_print_json(const struct adv_sweep *s, const char *file)
{
	struct json_object *o = adv_json_object(), *list;
	bool good = true;

	adv_json_add_text(o, "file", file);
	adv_json_add_number(o, "runs", s->runs);
	list = adv_json_add_array(o, "cases");
	for (uint32_t run = 0; good && run < s->runs; run += s->seeds)
		good = add_case(s, run, list);
	adv_json_print(stdout, o);
	return good;
}

/* ---- files ---- */

static FILE *create_file(const char *path)
{
	FILE *f = fopen(path, "w");

	if (!f)
		fprintf(stderr, "adverb sim: %s: %s\n", path, strerror(errno));
	return f;
}

static bool close_file(FILE *f, const char *path)
{
	bool bad = ferror(f);

	if (fclose(f) == 0 && !bad)
		return true;
	fprintf(stderr, "adverb sim: %s: %s\n", path, strerror(errno));
	return false;
}

static void write_keys(const struct adv_sweep *s, FILE *f, bool seed)
{
	for (unsigned i = 0; i < s->axes; i++)
		if (seed || !s->axis[i].is_seed)
			fprintf(f, "%s,", s->axis[i].key);
}

static void write_values(const struct adv_sweep *s, uint32_t run, FILE *f, bool seed)
{
	for (unsigned i = 0; i < s->axes; i++)
		if (seed || !s->axis[i].is_seed)
			fprintf(f, "%s,", strchr(adv_sweep_set(s, run, i), '=') + 1);
}

/* Writes a value for programs: nothing for none. */
static void write_number(FILE *f, double v, char end)
{
	char text[32];

	fprintf(f, "%s%c", isnan(v) ? "" : number_text(v, text), end);
}

static void write_runs(const struct adv_sweep *s, FILE *f)
{
	write_keys(s, f, true);
	for (unsigned m = 0; m < s->metrics; m++)
		fprintf(f, "%s%c", s->metric[m], m + 1 < s->metrics ? ',' : '\n');
	for (uint32_t run = 0; run < s->runs; run++) {
		write_values(s, run, f, true);
		for (unsigned m = 0; m < s->metrics; m++)
			write_number(f, s->value[(size_t)run * ADV_SWEEP_METRICS + m],
				     m + 1 < s->metrics ? ',' : '\n');
	}
}

static bool write_cases(const struct adv_sweep *s, FILE *f)
{
	write_keys(s, f, false);
	fprintf(f, "metric,runs,median,low,high\n");
	for (uint32_t run = 0; run < s->runs; run += s->seeds)
		for (unsigned m = 0; m < s->metrics; m++) {
			struct adv_sweep_summary sum;

			if (!adv_sweep_summarize(s, run, m, &sum))
				return false;
			write_values(s, run, f, false);
			fprintf(f, "%s,%u,", s->metric[m], sum.runs);
			write_number(f, sum.median, ',');
			write_number(f, sum.low, ',');
			write_number(f, sum.high, '\n');
		}
	return true;
}

bool adv_sweep_write_csv(const struct adv_sweep *s, const char *folder)
{
	static const char *const names[] = {"runs", "cases"};
	bool good = true;

	if (mkdir(folder, 0777) && errno != EEXIST) {
		fprintf(stderr, "adverb sim: %s: %s\n", folder, strerror(errno));
		return false;
	}
	for (unsigned i = 0; good && i < 2; i++) {
		char path[4096];
		FILE *f;

		if ((size_t)snprintf(path, sizeof(path), "%s/%s.csv", folder, names[i]) >=
		    sizeof(path))
			path[sizeof(path) - 1] = '\0';
		f = create_file(path);
		if (!f)
			return false;
		if (i == 0)
			write_runs(s, f);
		else
			good = write_cases(s, f);
		good &= close_file(f, path);
	}
	return good;
}

/* ---- the page ---- */

static void write_html(FILE *f, const char *text)
{
	for (; *text; text++)
		switch (*text) {
		case '<':
			fputs("&lt;", f);
			break;
		case '>':
			fputs("&gt;", f);
			break;
		case '&':
			fputs("&amp;", f);
			break;
		case '"':
			fputs("&quot;", f);
			break;
		default:
			fputc(*text, f);
		}
}

static const char head[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	"<title>adverb sim: sweep</title>\n<style>\n"
	":root{color-scheme:light dark}body{font:16px/1.4 sans-serif;max-width:60em;margin:1em "
	"auto;padding:0 1em}\ntable{border-collapse:collapse;width:100%}td,th{padding:.2em "
	".5em;text-align:left;border-bottom:1px solid #8884}\n"
	"td.n{text-align:right;font-variant-numeric:tabular-nums}svg{width:100%;min-width:8em;"
	"height:1em}\nrect{fill:#4a7ebb}line{stroke:#d55e00;stroke-width:2}\n</style></"
	"head><body>\n";

/* Draws a bar of the median and a line of its interval, relative to `most`. */
static void write_bar(FILE *f, const struct adv_sweep_summary *s, double most)
{
	double scale = most > 0 ? 100 / most : 0;

	fprintf(f,
		"<svg viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\"><rect y=\"2\" "
		"height=\"6\" width=\"%.2f\"/>",
		isnan(s->median) ? 0 : s->median * scale);
	if (!isnan(s->low))
		fprintf(f, "<line x1=\"%.2f\" x2=\"%.2f\" y1=\"5\" y2=\"5\"/>", s->low * scale,
			s->high * scale);
	fputs("</svg>", f);
}

static bool write_metric(const struct adv_sweep *s, unsigned m, FILE *f)
{
	char name[CASE], median[32], low[32], high[32];
	struct adv_sweep_summary sum;
	double most = 0;

	for (uint32_t run = 0; run < s->runs; run += s->seeds) {
		if (!adv_sweep_summarize(s, run, m, &sum))
			return false;
		most = fmax(most, fmax(sum.median, sum.high)); /* fmax() ignores NaN */
	}
	fputs("<h2>", f);
	write_html(f, s->metric[m]);
	fputs("</h2><table><tr><th>case</th><th>median</th><th>95 %</th><th></th></tr>\n", f);
	for (uint32_t run = 0; run < s->runs; run += s->seeds) {
		if (!adv_sweep_summarize(s, run, m, &sum))
			return false;
		fputs("<tr><td>", f);
		write_html(f, case_name(s, run, name));
		fprintf(f, "</td><td class=\"n\">%s</td><td class=\"n\">%s to %s</td><td>",
			number_text(sum.median, median), number_text(sum.low, low),
			number_text(sum.high, high));
		write_bar(f, &sum, most);
		fputs("</td></tr>\n", f);
	}
	fputs("</table>\n", f);
	return true;
}

bool adv_sweep_write_page(const struct adv_sweep *s, const char *file, const char *page)
{
	FILE *f = create_file(page);
	bool good = true;

	if (!f)
		return false;
	fputs(head, f);
	fputs("<h1>", f);
	write_html(f, file);
	fprintf(f,
		"</h1>\n<p>%u runs, %u of each case. Bars are medians; lines are the 95 %% "
		"confidence intervals of the medians, by order statistics.</p>\n",
		s->runs, s->seeds);
	for (unsigned m = 0; good && m < s->metrics; m++)
		good = write_metric(s, m, f);
	fputs("</body></html>\n", f);
	return close_file(f, page) && good;
}
