/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A plot as inline SVG: axes with ticks, lines, areas, levels. Colours and widths are the page's
 * style sheet's, by class. Text is escaped.
 */
#ifndef ADV_CLI_REPORT_PLOT_H
#define ADV_CLI_REPORT_PLOT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum adv_plot_unit {
	ADV_PLOT_TIME, /* ps */
	ADV_PLOT_BYTES,
	ADV_PLOT_RATE, /* b/s */
	ADV_PLOT_COUNT,
	ADV_PLOT_PERCENT, /* 1: 100 % */
};

struct adv_plot_axis {
	enum adv_plot_unit unit;
	bool log;
	double least; /* where it begins and ends, in the unit above; log: above 0 */
	double most;
	const char *name;
};

struct adv_plot {
	FILE *out;
	const char *kind;  /* for `data-plot`: a word */
	const char *title; /* what a screen reader says */
	struct adv_plot_axis x;
	struct adv_plot_axis y; /* not `labels`: rounded up to a tick */
	double height;		/* of the picture; 0: the usual */
	double left;		/* margin; 0: the usual */
	bool labels;		/* the y axis has none: adv_plot_row() writes the labels */
};

/* Begins the picture with its axes; the y axis is widened to the next tick. */
void adv_plot_begin(struct adv_plot *p);
void adv_plot_end(struct adv_plot *p);

/* Where a value is in the picture. */
double adv_plot_x(const struct adv_plot *p, double value);
double adv_plot_y(const struct adv_plot *p, double value);

/* Steps: value[i] from at[i] to at[i + 1]; at has n + 1 elements. Hidden are those below 0.
 * Repeated heights take no room. `title` is what is told of it when pointed at; NULL: nothing. */
void adv_plot_steps(struct adv_plot *p, const char *class, const char *title, uint32_t n,
		    const double *at, const double *value);
/* The area between two of them. */
void adv_plot_band(struct adv_plot *p, const char *class, uint32_t n, const double *at,
		   const double *low, const double *high);
/* A level across, with its name in one of some places beside each other, from the right; where it
 * is out of the picture, nothing. */
void adv_plot_level(struct adv_plot *p, const char *class, unsigned place, double value,
		    const char *name);
/* Of a picture with rows: the label of row i, and rectangles of one class in it, from at[i] to
 * at[i + 1] where take[i]. */
void adv_plot_row_label(struct adv_plot *p, double top, double height, const char *label);
void adv_plot_row(struct adv_plot *p, const char *class, double top, double height, uint32_t n,
		  const double *at, const bool *take);

/* A number in the axis's unit, for text: "1.5 ms". */
#define ADV_PLOT_TEXT 40
const char *adv_plot_number(enum adv_plot_unit unit, double value, char text[ADV_PLOT_TEXT]);

/* HTML text: what has a meaning there is escaped, what is no printable UTF-8 becomes U+FFFD. */
void adv_html_text(FILE *out, const char *text);

#endif
