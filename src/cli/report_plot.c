/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/report_plot.h"

#include <math.h>
#include <string.h>

#define WIDTH  480.0
#define HEIGHT 230.0
#define LEFT   56.0
#define RIGHT  10.0
#define TOP    12.0
#define BOTTOM 38.0
#define TICKS  5

/* ---- text ---- */

/* Bytes of the character at s, where it is well-formed UTF-8 and no control character; or 0. */
static unsigned character(const unsigned char *s)
{
	unsigned more = s[0] >= 0xf0 ? 3 : s[0] >= 0xe0 ? 2 : 1;

	if (s[0] < 0x80)
		return s[0] >= ' ' && s[0] != 0x7f;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	for (unsigned i = 1; i <= more; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	/* No longer than need be, no surrogates, none beyond U+10FFFF, no C1 control characters. */
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f) ||
	    (s[0] == 0xc2 && s[1] < 0xa0))
		return 0;
	return more + 1;
}

void adv_html_text(FILE *out, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	while (*s) {
		unsigned n = character(s);

		if (n == 0)
			fputs("&#xfffd;", out);
		else if (strchr("<>&\"'", *s))
			fprintf(out, "&#%u;", *s);
		else
			fwrite(s, 1, n, out);
		s += n ? n : 1;
	}
}

struct scale {
	double one;
	const char *name;
};

/* The largest unit in which `most` is 1 or more. */
static struct scale scale_of(enum adv_plot_unit unit, double most)
{
	static const struct scale time[] = {
		{1e12, "s"}, {1e9, "ms"}, {1e6, "µs"}, {1e3, "ns"}, {1, "ps"}};
	static const struct scale bytes[] = {
		{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}};
	static const struct scale rate[] = {
		{1e12, "Tb/s"}, {1e9, "Gb/s"}, {1e6, "Mb/s"}, {1e3, "kb/s"}, {1, "b/s"}};
	const struct scale *s = unit == ADV_PLOT_TIME	 ? time
				: unit == ADV_PLOT_BYTES ? bytes
							 : rate;

	if (unit == ADV_PLOT_COUNT)
		return (struct scale){1, ""};
	if (unit == ADV_PLOT_PERCENT)
		return (struct scale){0.01, "%"};
	while (s->one > 1 && s->one > most * (1 + 1e-9))
		s++;
	return *s;
}

const char *adv_plot_number(enum adv_plot_unit unit, double value, char text[ADV_PLOT_TEXT])
{
	struct scale s = scale_of(unit, value);

	if (unit == ADV_PLOT_COUNT)
		snprintf(text, ADV_PLOT_TEXT, "%.0f", value);
	else if (unit == ADV_PLOT_BYTES && value < 10000)
		snprintf(text, ADV_PLOT_TEXT, "%.0f B", value);
	else
		snprintf(text, ADV_PLOT_TEXT, "%.4g %s", value / s.one, s.name);
	return text;
}

/* ---- axes ---- */

static double bottom_of(const struct adv_plot *p)
{
	return (p->height > 0 ? p->height : HEIGHT) - BOTTOM;
}

static double left_of(const struct adv_plot *p)
{
	return p->left > 0 ? p->left : LEFT;
}

static double fraction(const struct adv_plot_axis *a, double value)
{
	double f = a->log ? log10(value / a->least) / log10(a->most / a->least)
			  : (value - a->least) / (a->most - a->least);

	return f < 0 ? 0 : f > 1 ? 1 : f;
}

double adv_plot_x(const struct adv_plot *p, double value)
{
	return left_of(p) + fraction(&p->x, value) * (WIDTH - RIGHT - left_of(p));
}

double adv_plot_y(const struct adv_plot *p, double value)
{
	return bottom_of(p) - fraction(&p->y, value) * (bottom_of(p) - TOP);
}

/* 1, 2 or 5 times a power of ten: the step of about TICKS ticks. */
static double step_of(double range)
{
	double rough = range / TICKS, power = pow(10, floor(log10(rough)));

	for (unsigned i = 0; i < 3; i++) {
		static const double nice[] = {1, 2, 5};

		if (rough <= nice[i] * power * (1 + 1e-9))
			return nice[i] * power;
	}
	return 10 * power;
}

/* Where the axis has a range, and how its ticks are apart; as a number of its unit. */
static double widen(struct adv_plot_axis *a, bool round_up)
{
	double one = scale_of(a->unit, a->most).one, step;

	if (!(a->most > a->least))
		a->most = a->least + one;
	if (a->log)
		return 10;
	step = step_of((a->most - a->least) / one) * one;
	if (a->unit == ADV_PLOT_COUNT && step < 1)
		step = 1;
	if (round_up)
		a->most = a->least + ceil((a->most - a->least) / step - 1e-9) * step;
	return step;
}

static void tick_x(const struct adv_plot *p, double at, const char *text)
{
	double x = adv_plot_x(p, at), y = bottom_of(p);

	fprintf(p->out, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>", x, TOP, y);
	fprintf(p->out,
		"<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n", x,
		y + 14, text);
}

static void tick_y(const struct adv_plot *p, double at, const char *text)
{
	double x = left_of(p), y = adv_plot_y(p, at);

	fprintf(p->out, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>", x, y, WIDTH - RIGHT);
	fprintf(p->out,
		"<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", x - 5,
		y + 4, text);
}

static void ticks(const struct adv_plot *p, const struct adv_plot_axis *a, double step,
		  void (*tick)(const struct adv_plot *p, double at, const char *text))
{
	double one = scale_of(a->unit, a->most).one;
	char text[ADV_PLOT_TEXT];

	if (!a->log) {
		for (unsigned i = 0; a->least + i * step <= a->most * (1 + 1e-9); i++) {
			snprintf(text, sizeof(text), "%.10g",
				 (a->unit == ADV_PLOT_COUNT ? 1 : 1 / one) * (a->least + i * step));
			tick(p, a->least + i * step, text);
		}
		return;
	}
	for (double at = pow(10, ceil(log10(a->least) - 1e-9)); at <= a->most * (1 + 1e-9);
	     at *= 10)
		tick(p, at, adv_plot_number(a->unit, at, text));
	if (a->most / a->least < 100) /* there is but one power of ten, or none */
		for (double at = pow(10, floor(log10(a->least))); at <= a->most; at *= 10)
			for (unsigned k = 2; k <= 5; k += 3)
				if (k * at >= a->least && k * at <= a->most)
					tick(p, k * at, adv_plot_number(a->unit, k * at, text));
}

static void names(const struct adv_plot *p)
{
	struct scale x = scale_of(p->x.unit, p->x.most), y = scale_of(p->y.unit, p->y.most);

	fprintf(p->out,
		"<text class=\"name\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s%s%s</text>\n",
		WIDTH - RIGHT, bottom_of(p) + 31, p->x.name, p->x.log || !*x.name ? "" : ", ",
		p->x.log ? "" : x.name);
	if (!p->labels)
		fprintf(p->out,
			"<text class=\"name\" x=\"11\" y=\"%.1f\" text-anchor=\"end\" "
			"transform=\"rotate(-90 11 %.1f)\">%s%s%s</text>\n",
			TOP, TOP, p->y.name, *y.name ? ", " : "", y.name);
}

void adv_plot_begin(struct adv_plot *p)
{
	double height = p->height > 0 ? p->height : HEIGHT;
	double step_x, step_y = 0;

	step_x = widen(&p->x, false);
	if (!p->labels)
		step_y = widen(&p->y, true);
	fprintf(p->out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" data-plot=\"%s\" "
		"viewBox=\"0 0 %.0f %.0f\" role=\"img\" data-x=\"%.17g %.17g %.1f %.1f\" "
		"data-y=\"%.17g %.17g %.1f %.1f\"><title>",
		p->kind, WIDTH, height, p->x.least, p->x.most, left_of(p), WIDTH - RIGHT,
		p->y.least, p->y.most, bottom_of(p), TOP);
	adv_html_text(p->out, p->title);
	fprintf(p->out, "</title>\n");
	ticks(p, &p->x, step_x, tick_x);
	if (!p->labels)
		ticks(p, &p->y, step_y, tick_y);
	names(p);
}

void adv_plot_end(struct adv_plot *p)
{
	fprintf(p->out, "<path class=\"axis\" d=\"M%.1f %.1fV%.1fH%.1f\"/></svg>\n", left_of(p),
		TOP, bottom_of(p), WIDTH - RIGHT);
}

/* ---- what is in it ---- */

/* A tenth is all that can be seen, and what repeats is left out. */
static double tenth(double v)
{
	return floor(v * 10 + 0.5) / 10;
}

void adv_plot_steps(struct adv_plot *p, const char *class, const char *title, uint32_t n,
		    const double *at, const double *value)
{
	double last = -1;

	fprintf(p->out, "<path class=\"line %s\" d=\"", class);
	for (uint32_t i = 0; i < n; i++) {
		double x = tenth(adv_plot_x(p, at[i]));
		double y = value[i] < 0 ? -1 : tenth(adv_plot_y(p, value[i]));

		if (y < 0 && last >= 0)
			fprintf(p->out, "H%g", x);
		else if (y >= 0 && last < 0)
			fprintf(p->out, "M%g %g", x, y);
		else if (y != last)
			fprintf(p->out, "H%gV%g", x, y);
		last = y;
	}
	if (last >= 0)
		fprintf(p->out, "H%g", tenth(adv_plot_x(p, at[n])));
	fprintf(p->out, "\">");
	if (title) {
		fprintf(p->out, "<title>");
		adv_html_text(p->out, title);
		fprintf(p->out, "</title>");
	}
	fprintf(p->out, "</path>\n");
}

void adv_plot_band(struct adv_plot *p, const char *class, uint32_t n, const double *at,
		   const double *low, const double *high)
{
	double last = -1;

	if (n == 0)
		return;
	fprintf(p->out, "<path class=\"band %s\" d=\"M%g %g", class, tenth(adv_plot_x(p, at[0])),
		tenth(adv_plot_y(p, low[0])));
	for (uint32_t i = 0; i < n; i++) {
		double y = tenth(adv_plot_y(p, high[i]));

		if (y != last)
			fprintf(p->out, "H%gV%g", tenth(adv_plot_x(p, at[i])), y);
		last = y;
	}
	fprintf(p->out, "H%g", tenth(adv_plot_x(p, at[n])));
	last = -1;
	for (uint32_t i = n; i-- > 0;) {
		double y = tenth(adv_plot_y(p, low[i]));

		if (y != last)
			fprintf(p->out, "H%gV%g", tenth(adv_plot_x(p, at[i + 1])), y);
		last = y;
	}
	fprintf(p->out, "Z\"/>\n");
}

void adv_plot_level(struct adv_plot *p, const char *class, unsigned place, double value,
		    const char *name)
{
	double y = tenth(adv_plot_y(p, value));

	if (value < p->y.least || value > p->y.most)
		return;
	fprintf(p->out, "<path class=\"level %s\" d=\"M%g %gH%g\"/>", class, left_of(p), y,
		WIDTH - RIGHT);
	fprintf(p->out, "<text class=\"levelname %s\" x=\"%g\" y=\"%g\" text-anchor=\"end\">",
		class, WIDTH - RIGHT - 3 - place * 52.0, y < TOP + 12 ? y + 11 : y - 3);
	adv_html_text(p->out, name);
	fprintf(p->out, "</text>\n");
}

void adv_plot_row_label(struct adv_plot *p, double top, double height, const char *label)
{
	fprintf(p->out, "<text class=\"tick\" x=\"%g\" y=\"%g\" text-anchor=\"end\">",
		left_of(p) - 5, TOP + top + height / 2 + 4);
	adv_html_text(p->out, label);
	fprintf(p->out, "</text>\n");
}

void adv_plot_row(struct adv_plot *p, const char *class, double top, double height, uint32_t n,
		  const double *at, const bool *take)
{
	bool some = false;

	for (uint32_t i = 0; i < n; i++) {
		double x = adv_plot_x(p, at[i]);
		uint32_t first = i;

		if (!take[i])
			continue;
		while (i + 1 < n && take[i + 1])
			i++;
		if (!some)
			fprintf(p->out, "<path class=\"%s\" d=\"", class);
		some = true;
		x = adv_plot_x(p, at[first]);
		fprintf(p->out, "M%g %gH%gv%gH%gz", tenth(x), TOP + top,
			tenth(adv_plot_x(p, at[i + 1])), height, tenth(x));
	}
	if (some)
		fprintf(p->out, "\"/>\n");
}
