/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Draws `adverb top`. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/top/columns.h"
#include "cli/top/view.h"
#include "nic/engine/names.h"

#define HEAD	  4 /* rows above the titles */
#define BARS_MOST 24

/* ---- the head ---- */

static void draw_title(struct adv_screen *s, const struct adv_top_view *v,
		       const struct adv_top_data *d)
{
	char speed[ADV_TOP_SI];
	unsigned at;

	adv_top_si(speed, d->mbps * 1e6);
	at = adv_screen_print(s, 0, 0, ADV_BOLD, "adverb top");
	at = adv_screen_print(s, 0, at, ADV_PLAIN, " - adverb0 port 1, %sbit/s, ", speed);
	at = adv_screen_print(s, 0, at, d->port_active ? ADV_PLAIN : ADV_ALERT, "%s",
			      d->port_active ? "active" : "DOWN");
	at = adv_screen_print(s, 0, at, ADV_PLAIN, "; adverbd up %" PRIu64 " s",
			      d->status.uptime_ms / 1000);
	if (d->silent)
		at = adv_screen_print(s, 0, at, ADV_ALERT, "; %u stopped", d->silent);
	if (v->frozen)
		adv_screen_print(s, 0, at + 1, ADV_REVERSE, " FROZEN ");
}

static void draw_traffic(struct adv_screen *s, unsigned row, const struct adv_top_row *r)
{
	char t[6][ADV_TOP_SI];

	adv_top_si(t[0], r->rate[ADV_TOP_TX_BYTES]);
	adv_top_si(t[1], r->rate[ADV_TOP_TX_PACKETS]);
	adv_top_si(t[2], r->rate[ADV_TOP_RX_BYTES]);
	adv_top_si(t[3], r->rate[ADV_TOP_RX_PACKETS]);
	adv_top_duration(t[4], r->p50);
	adv_top_duration(t[5], r->p99);
	adv_screen_print(s, row, 0, ADV_PLAIN,
			 "Sent %sB/s %spk/s  Received %sB/s %spk/s  Latency p50 %s p99 %s", t[0],
			 t[1], t[2], t[3], t[4], t[5]);
}

static void draw_events(struct adv_screen *s, unsigned row, const struct adv_top_row *r)
{
	static const char *const names[] = {"retransmissions", "RNR",	     "marks", "timeouts",
					    "out of sequence", "duplicates", "errors"};
	unsigned at = adv_screen_print(s, row, 0, ADV_PLAIN, "Total");

	for (unsigned i = ADV_TOP_EVENTS; i < ADV_TOP_COUNTS; i++) {
		char text[ADV_TOP_SI];

		if (i > ADV_TOP_MARKS && !r->total[i])
			continue;
		adv_top_si(text, (double)r->total[i]);
		at = adv_screen_print(s, row, at, r->grown[i] ? ADV_ALERT : ADV_PLAIN, "  %s %s",
				      names[i - ADV_TOP_EVENTS], text);
	}
}

static void draw_head(struct adv_screen *s, const struct adv_top_view *v,
		      const struct adv_top_data *d)
{
	const struct adv_top_row *r =
		v->page == ADV_TOP_PROGRAMS || !v->pid ? &d->port : &d->program;
	unsigned at = 0;

	draw_title(s, v, d);
	draw_traffic(s, 1, r);
	draw_events(s, 2, r);
	if (v->page == ADV_TOP_PROGRAMS)
		at = adv_screen_print(s, 3, 0, ADV_BOLD, "Programs: %zu", d->rows.count);
	else if (v->page == ADV_TOP_STORAGE)
		at = adv_screen_print(
			s, 3, 0, ADV_BOLD,
			"Namespaces and hosts of NVMe over Fabrics targets; gateways");
	else if (v->pid)
		at = adv_screen_print(s, 3, 0, ADV_BOLD, "Process %u (%s), queue pairs: %" PRIu64,
				      v->pid, d->program.pid ? d->program.comm : "ended",
				      d->program.qps);
	else
		at = adv_screen_print(s, 3, 0, ADV_BOLD, "Queue pairs: %zu", d->rows.count);
	if (v->page != ADV_TOP_DETAILS && v->page != ADV_TOP_STORAGE)
		at = adv_screen_print(s, 3, at, ADV_PLAIN, "  by %s%s",
				      adv_top_order_name(v->order), v->reverse ? ", reverse" : "");
	if (v->typing || v->filter[0])
		adv_screen_print(s, 3, at, ADV_BOLD, "  filter: %s%s", v->filter,
				 v->typing ? "_" : "");
}

/* ---- the table ---- */

static void draw_cell(struct adv_screen *s, unsigned row, unsigned at,
		      const struct adv_top_column *c, const char *text, enum adv_attribute a)
{
	if (c->left)
		adv_screen_print(s, row, at, a, "%-*.*s", c->width, c->width, text);
	else
		adv_screen_print(s, row, at, a, "%*.*s", c->width, c->width, text);
}

static void draw_row(struct adv_screen *s, unsigned row, const struct adv_top_row *r,
		     const struct adv_top_column *const *columns, unsigned count)
{
	unsigned at = 0;

	for (unsigned i = 0; i < count; i++) {
		char text[ADV_TOP_CELL];
		bool alert = columns[i]->print(text, r);

		draw_cell(s, row, at, columns[i], text, alert ? ADV_ALERT : ADV_PLAIN);
		at += columns[i]->width + 1u;
	}
}

/* Moves the list of `count` rows so that the selected one is visible. Returns the lines for it. */
static unsigned scroll_rows(const struct adv_screen *s, struct adv_top_view *v, size_t count,
			    bool batch)
{
	unsigned used = HEAD + (batch ? 1 : 2); /* rows of head, titles and keys */
	unsigned room = s->rows > used ? s->rows - used : 0;

	if (v->selected >= count)
		v->selected = count ? count - 1 : 0;
	if (v->selected < v->first)
		v->first = v->selected;
	if (room && v->selected >= v->first + room)
		v->first = v->selected - room + 1;
	return room;
}

static void draw_table(struct adv_screen *s, struct adv_top_view *v, const struct adv_top_data *d,
		       bool batch)
{
	const struct adv_top_column *columns[ADV_TOP_COLUMNS];
	unsigned count = adv_top_columns(v->page == ADV_TOP_QUEUE_PAIRS, s->columns, columns);
	unsigned room = scroll_rows(s, v, d->rows.count, batch), at = 0;

	for (unsigned i = 0; i < count; i++) {
		draw_cell(s, HEAD, at, columns[i], columns[i]->title, ADV_PLAIN);
		at += columns[i]->width + 1u;
	}
	adv_screen_mark(s, HEAD, ADV_REVERSE);
	for (unsigned i = 0; i < room && v->first + i < d->rows.count; i++) {
		draw_row(s, HEAD + 1 + i, &d->rows.row[v->first + i], columns, count);
		if (!batch && v->first + i == v->selected)
			adv_screen_mark(s, HEAD + 1 + i, ADV_REVERSE);
	}
	if (!d->rows.count)
		adv_screen_print(s, HEAD + 2, 2, ADV_BOLD, "%s",
				 v->filter[0]		       ? "Nothing matches the filter."
				 : v->page == ADV_TOP_PROGRAMS ? "No program uses the device."
							       : "No queue pairs.");
}

/* ---- one queue pair ---- */

static void draw_bars(struct adv_screen *s, unsigned row, const uint64_t *bucket)
{
	uint64_t octave[ADV_LATENCY_WIDTHS] = {0}, most = 1;
	unsigned first = ADV_LATENCY_WIDTHS, last = 0;

	for (unsigned i = 0; i < ADV_LATENCY_BUCKETS; i++)
		octave[i / ADV_LATENCY_PARTS] += bucket[i];
	for (unsigned i = 0; i < ADV_LATENCY_WIDTHS; i++) {
		if (!octave[i])
			continue;
		first = first < i ? first : i;
		last = i;
		most = octave[i] > most ? octave[i] : most;
	}
	adv_screen_print(s, row++, 0, ADV_BOLD, "Latency of the queue pair's send requests so far");
	for (unsigned i = first; i <= last && row + 1 < s->rows; i++) {
		char bound[ADV_TOP_SI], count[ADV_TOP_SI];

		adv_top_duration(bound, adv_latency_bound((i + 1) * ADV_LATENCY_PARTS - 1));
		adv_top_si(count, (double)octave[i]);
		adv_screen_print(s, row++, 0, ADV_PLAIN, "  below %6s %6s %.*s", bound, count,
				 (int)((double)octave[i] * BARS_MOST / (double)most + 0.5),
				 "########################");
	}
}

static void draw_details(struct adv_screen *s, const struct adv_top_view *v,
			 const struct adv_top_data *d)
{
	const struct adv_top_row *r = d->rows.count ? &d->rows.row[0] : NULL;
	const struct adv_object_qp *q = r ? &r->object.qp : NULL;
	char peer[ADV_TOP_CELL], sends[ADV_TOP_SI], receives[ADV_TOP_SI], p50[ADV_TOP_SI],
		p99[ADV_TOP_SI];
	unsigned row = HEAD + 1;

	adv_screen_print(s, HEAD, 0, ADV_PLAIN, "Queue pair 0x%06x", v->qpn);
	adv_screen_mark(s, HEAD, ADV_REVERSE);
	if (!r) {
		adv_screen_print(s, row + 1, 2, ADV_BOLD, "It does not exist any more.");
		return;
	}
	adv_top_peer(peer, &r->object);
	adv_top_si(sends, r->rate[ADV_TOP_SENDS]);
	adv_top_si(receives, r->rate[ADV_TOP_RECEIVES]);
	adv_screen_print(s, row++, 0, ADV_PLAIN, "Type      %s, state %s, peer %s",
			 adv_qp_type_name(r->object.type), adv_qp_state_name(r->object.state),
			 peer);
	adv_screen_print(s, row++, 0, ADV_PLAIN,
			 "Send      %s/s, %u outstanding of %u; PSN %u, path MTU %u", sends,
			 q->send_posted - q->send_done, q->send_room, q->sq_psn, q->mtu);
	adv_screen_print(s, row++, 0, ADV_PLAIN, "Window    %u packets in flight of %u",
			 q->in_flight, q->window);
	adv_screen_print(s, row++, 0, ADV_PLAIN, "Receive   %s/s, %u posted of %u; expected PSN %u",
			 receives, q->srq ? 0 : q->recv_posted - q->recv_done, q->recv_room,
			 q->rq_psn);
	adv_screen_print(s, row++, 0, ADV_PLAIN,
			 "Retries   %u of %u left, RNR %u of %u, timeout %u", q->retry_left,
			 q->retry_cnt, q->rnr_left, q->rnr_retry, q->timeout);
	adv_top_duration(p50, r->p50);
	adv_top_duration(p99, r->p99);
	adv_screen_print(s, row++, 0, ADV_PLAIN, "Latency   p50 %s, p99 %s", p50, p99);
	draw_events(s, row, r);
	adv_screen_print(s, row, 0, ADV_PLAIN, "Counts");
	draw_bars(s, row + 2, r->latency);
}

/* ---- the page ---- */

static void draw_help(struct adv_screen *s)
{
	static const char *const lines[] = {
		"Up Down PgUp PgDn Home End j k   select a row",
		"Enter, Right                     a program's queue pairs; a queue pair",
		"Esc, Left, Backspace             back",
		"a                                the queue pairs of all programs",
		"n                                storage: targets of NVMe over Fabrics; gateways",
		"s r                              sort by the next column; reverse",
		"/                                filter by name, process or queue pair",
		"Space                            freeze, go on",
		"h ?                              this help",
		"q                                quit",
		"",
		"P50, P99: time from the post of send requests to their completion, since the",
		"last update. RETX: NAKs for lost packets, timeouts. RNR: no receive request",
		"posted, there or here. MARK: congestion marks and notifications. ERR:",
		"completions with errors. Counts are totals; those that grow are highlighted.",
	};

	for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		adv_screen_print(s, HEAD + 1 + i, 1, ADV_PLAIN, "%s", lines[i]);
}

static void draw_keys(struct adv_screen *s, const struct adv_top_view *v)
{
	if (s->rows > HEAD + 2)
		adv_screen_print(
			s, s->rows - 1, 0, ADV_BOLD, "%s",
			v->typing
				? "Type a part of a name, or a number.  Enter: done  Esc: no filter"
				: "q quit  Enter open  Esc back  a all QPs  n NVMe  s sort  r "
				  "reverse  / filter  h help");
}

void adv_top_draw(struct adv_screen *s, struct adv_top_view *v, const struct adv_top_data *d,
		  bool batch)
{
	adv_screen_clear(s, s->rows, s->columns);
	if (!d->connected) {
		adv_screen_print(s, 0, 0, ADV_BOLD, "adverb top");
		adv_screen_print(s, 2, 2, ADV_BOLD,
				 d->hindered ? "No adverbd for your user runs: UDP port 4791 is in "
					       "use (adverb status says more)."
					     : "No program uses the device: adverbd does not run.");
	} else {
		draw_head(s, v, d);
		if (v->help)
			draw_help(s);
		else if (v->page == ADV_TOP_DETAILS)
			draw_details(s, v, d);
		else if (v->page == ADV_TOP_STORAGE)
			adv_top_storage_draw(s, HEAD, scroll_rows(s, v, d->storage.count, batch),
					     &d->storage, v->first);
		else
			draw_table(s, v, d, batch);
	}
	if (!batch)
		draw_keys(s, v);
}

unsigned adv_top_batch_rows(const struct adv_top_view *v, const struct adv_top_data *d)
{
	size_t count = v->page == ADV_TOP_STORAGE ? d->storage.count : d->rows.count;

	if (!d->connected)
		return 3;
	return HEAD + (count ? 1 + (unsigned)count : 3);
}
