/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Builds the parts of the report from its data. docs/simulator.md describes them. */

const data = JSON.parse(document.getElementById("data").textContent);
const SHADES = 8; /* colours of series */
/* Patterns of lines: each one with each colour makes a line of its own. */
const DASHES = [{}, {name: "dashed", line: [8, 4]}, {name: "dotted", line: [2, 3]}];
const BINS = 128, FEWEST_BINS = 8;

/* ---- moments of the run ---- */

const columns = data.counters.lost.length;
const begins = [...Array(columns).keys()].map((i) => i * data.interval_ps);

function timeName(width) {
	return (at) => `${format("time", at)} to ${format("time", Math.min(at + width, data.end_ps))}`;
}

/* Returns the number of columns of a bin. A bin is so long that one frame more or less makes little
 * difference. A short run still has some bins. */
function columnsOfBin() {
	const each = Math.ceil(columns / BINS), most = Math.ceil(columns / FEWEST_BINS);

	return Math.max(1, each, Math.min(Math.ceil(data.bin_ps / data.interval_ps), most));
}

/* Sums up columns by bin. Returns the beginning of each bin, and its sum. */
function bin(column) {
	const each = columnsOfBin(), at = [], sums = [];

	for (let i = 0; i < columns; i += each) {
		at.push(begins[i]);
		sums.push(column.slice(i, i + each).reduce((a, b) => a + b, 0));
	}
	const last = at.length - 1;
	/* The end of a run may cut the last bin. If less than half of it is left, its rate means little, so it is
	 * added to the previous bin. */
	if (last > 0 && data.end_ps - at[last] < (at[last] - at[last - 1]) / 2) {
		sums[last - 1] += sums.pop();
		at.pop();
	}
	return {at, sums};
}

/* Returns the rate in each bin, b/s. */
function rates(column) {
	const {at, sums} = bin(column);

	return {at, values: sums.map((bytes, i) => bytes * 8e12 / ((i + 1 < at.length ? at[i + 1] : data.end_ps) - at[i]))};
}

function overTime(options) {
	return {time: true, xUnit: "time", end: data.end_ps, xRange: [0, data.end_ps], ...options};
}

function section(parent, title) {
	const figures = element("div", {class: "figures"});

	parent.append(element("h2", {}, title), figures);
	return figures;
}

function note(parent, text) {
	parent.append(element("p", {class: "dim"}, text));
}

/* ---- queues ---- */

/* Returns the thresholds of a queue. A threshold above 3 times the used bytes is above the plot and is named at the
 * top. */
function queueLevels(q, limits) {
	const levels = [];

	if (q.ecn_max)
		levels.push({value: q.ecn_min, name: `K_min ${format("bytes", q.ecn_min)}`, shade: "mark", dash: [2, 3]},
			{value: q.ecn_max, name: `K_max ${format("bytes", q.ecn_max)}`, shade: "mark", dash: [7, 3]});
	if (q.lossless && q.xoff) {
		levels.push({value: q.xoff, name: `xoff ${format("bytes", q.xoff)}`, shade: "pfc", dash: [7, 3]});
		if (q.xoff > q.xon_offset)
			levels.push({value: q.xoff - q.xon_offset, name: `xon ${format("bytes", q.xoff - q.xon_offset)}`, shade: "pfc", dash: [2, 3]});
	} else if (q.lossless && limits.length) {
		levels.push({value: limits.at(-1), name: "xoff, by alpha", shade: "pfc"});
	}
	return levels;
}

function addQueue(parent, q) {
	const limits = (q.limit || []).filter((v) => v > 0), levels = queueLevels(q, limits);
	const used = Math.max(...q.most, ...q.input), b = data.bottleneck;
	const top = Math.max(used, ...levels.map((l) => l.value).filter((v) => v <= 3 * used)) * 1.06;
	const series = [
		{name: "longest output queue (ECN)", values: q.most, least: q.least, shade: "s0"},
		{name: "used by one input port (PFC)", values: q.input, shade: "s1"},
	];

	if (limits.length)
		series.push({name: "xoff", values: q.limit.map((v) => v || null), shade: "pfc"});
	addPlot(parent, overTime({kind: "queue", series, levels, at: begins, unit: "bytes", valueRange: [0, top],
		title: `Switch ${q.switch}, priority ${q.priority}`,
		badge: b && b.switch === q.switch && b.priority === q.priority && b.port === q.port ? "bottleneck" : "",
		xName: timeName(data.interval_ps),
		caption: `Longest queue: ${format("bytes", q.peak)}, at port ${q.port}.`}));
}

function addQueues(parent, queues) {
	const figures = section(parent, "Queues");

	for (const q of queues)
		addQueue(figures, q);
}

/* ---- pauses ---- */

/* Returns the index of the pause at the height y. The first pause is at the top. */
function pauseRow(y) {
	return data.pauses.length - 1 - Math.floor(y);
}

function drawPauses(context, area, graph) {
	const row = area.h / (graph.yAxisRange()[1] - graph.yAxisRange()[0]);

	context.save();
	context.beginPath();
	context.rect(area.x, area.y, area.w, area.h);
	context.clip();
	context.fillStyle = colour("s1");
	data.pauses.forEach((p, k) => {
		const top = graph.toDomYCoord(data.pauses.length - k) + 1;

		p.time_ps.forEach((paused, i) => {
			if (!paused)
				return;
			const end = Math.min(begins[i] + data.interval_ps, data.end_ps), x = graph.toDomXCoord(begins[i]);

			context.globalAlpha = 0.2 + 0.8 * Math.min(1, paused / (end - begins[i]));
			context.fillRect(x, top, Math.max(1, graph.toDomXCoord(end) - x), row - 2);
		});
	});
	context.restore();
}

function pauseName(p) {
	return `${p.node} → ${p.peer}, ${p.priority}`;
}

function pauseTip(x, y) {
	const p = data.pauses[pauseRow(y)], i = Math.floor(x / data.interval_ps);

	if (!p || i < 0 || i >= columns)
		return null;
	const width = Math.min(data.interval_ps, data.end_ps - begins[i]);
	return [`${p.node} towards ${p.peer}, priority ${p.priority}`,
		`${timeName(data.interval_ps)(begins[i])}: paused ${Math.round(100 * p.time_ps[i] / width)} %`,
		`Whole run: ${p.count} pauses, ${format("time", p.total_ps)}`];
}

function addPauses(parent) {
	const figures = section(parent, "Pauses"), rows = data.pauses.length;

	if (!rows)
		return note(figures, "No sender was paused.");
	addPlot(figures, overTime({kind: "pauses", title: "Paused senders", at: begins, unit: "count",
		series: [{name: "", values: begins.map(() => null), shade: "s1"}], valueRange: [0, rows],
		height: 60 + 20 * rows, labelWidth: 100, underlay: drawPauses, tip: pauseTip, xName: timeName(data.interval_ps),
		ticker: () => data.pauses.map((p, k) => ({v: rows - k - 0.5, label: pauseName(p)})),
		caption: "Each row is a sender, its neighbour and a priority. A darker colour means a longer pause in that moment." +
			(data.pauses_left_out ? ` ${data.pauses_left_out} other senders and priorities were paused for less time.` : "")}));
}

/* ---- rates ---- */

function addRates(parent) {
	const figures = section(parent, "Rates of flows"), all = rates(data.all_flows), width = columnsOfBin() * data.interval_ps;
	const total = data.all_flows.reduce((a, b) => a + b, 0);
	const mean = (bytes) => data.end_ps ? format("rate", bytes * 8e12 / data.end_ps) : "";
	const series = data.flows.map((f, i) => ({name: f.name, label: `${f.name}, ${mean(f.total)}`,
		values: rates(f.bytes).values, group: `flow ${f.flow}`, dash: DASHES[Math.floor(i / SHADES)],
		shade: i < SHADES * DASHES.length ? "s" + i % SHADES : "other"}));
	let caption = "Payload received in order. The legend shows averages over the run.";

	if (data.flows_left_out)
		caption += ` ${data.flows_left_out} other flows are not drawn. None of them received more payload than these.`;
	if (!data.flow_is_connection)
		caption += ` Each line is the sum of all connections of a [flow] section. The run has ${data.connections} connections.`;
	addPlot(figures, overTime({kind: "rates", title: "Rate of each flow", series, at: all.at, unit: "rate", xName: timeName(width), caption}));
	addPlot(figures, overTime({kind: "rate", title: "Sum of all flows", series: [{name: "all flows", values: all.values, shade: "s0"}],
		at: all.at, unit: "rate", xName: timeName(width), caption: `Average over the run: ${mean(total)}.`}));
}

/* ---- completion times ---- */

/* Plots the time within which each share of the transfers ended. */
function addTimes(parent) {
	const figures = section(parent, "Flow completion times"), shares = [...Array(201).keys()].map((i) => i / 2);
	const nearest = (ps, share) => ps[Math.max(0, Math.ceil(share / 100 * ps.length) - 1)];
	const all = data.times.at(-1);

	if (!all)
		return note(figures, "No transfer ended.");
	const log = all.ps.at(-1) / Math.max(1, all.ps[0]) >= 20;
	addPlot(figures, {kind: "times", title: "Completion time by share of transfers", at: shares, log,
		unit: "time", xUnit: "percent", xName: (share) => `${share} % of transfers`,
		valueRange: log ? [all.ps[0] * 0.8, all.ps.at(-1) * 1.25] : [0, all.ps.at(-1) * 1.06],
		levels: [{value: all.p99, name: `99 % within ${format("time", all.p99)}`, shade: "alarm", dash: [2, 3]}],
		series: data.times.map((t, i) => ({name: t.name, label: `${t.name}, ${t.count}`, values: shares.map((s) => nearest(t.ps, s)), shade: "s" + i % SHADES})),
		caption: `Half of all transfers ended within ${format("time", all.median)}, 99 % within ${format("time", all.p99)}, and the slowest within ${format("time", all.ps.at(-1))}.`});
}

/* ---- marks, CNPs, losses ---- */

function addCounters(parent) {
	const figures = section(parent, "Marks, CNPs, losses"), width = columnsOfBin() * data.interval_ps;
	const sum = (key) => data.counters[key].reduce((a, b) => a + b, 0);
	const add = (kind, title, ...lines) => addPlot(figures, overTime({kind, title, unit: "count",
		at: bin(data.counters.lost).at, xName: timeName(width), caption: `Number in each moment of ${format("time", width)}.`,
		series: lines.map(([key, name], i) => ({name, label: `${name}: ${sum(key)}`, values: bin(data.counters[key]).sums, shade: "s" + i}))}));

	if (sum("ecn_marked"))
		add("marks", `ECN marks: ${sum("ecn_marked")}`, ["ecn_marked", "frames marked"]);
	else
		note(figures, "No switch marked a frame.");
	if (sum("np_cnp_sent"))
		add("cnps", "CNPs", ["np_cnp_sent", "CNPs sent"], ["rp_cnp_handled", "CNPs handled"]);
	if (sum("lost"))
		add("drops", `Frames lost: ${sum("lost")}`, ["lost", "frames lost"]);
	else
		note(figures, "No frame was lost.");
}

/* ---- parameters ---- */

function addParameters(parent) {
	const table = element("table", {class: "keys"}, element("tr", {}, ...["section", "key", "value"].map((h) => element("th", {}, h))));

	for (const row of data.parameters)
		table.append(element("tr", {}, ...row.map((cell) => element("td", {}, cell))));
	parent.append(element("h2", {}, "Parameters"), element("p", {class: "dim"},
		`Values of the scenario and of --set. All other keys have their defaults. If a section occurs many times, the first ${data.parameters_most} are listed.`),
		element("details", {open: ""}, element("summary", {}, "Keys and values"), element("div", {class: "table"}, table)));
}

/* ---- where the plots begin ---- */

const RISE = 0.02; /* of its longest length: a queue that has begun to grow */
const WORTH = 0.2; /* of the run: less is not left out */

/* Returns the time at which the plots begin: where the bottleneck's queue begins to grow, with some time before. 0: the
 * beginning of the run. */
function burstBegin(queue) {
	const first = queue ? queue.most.findIndex((bytes) => bytes > RISE * queue.peak) : -1;
	const at = first > 0 ? begins[first] : 0;

	return at < WORTH * data.end_ps ? 0 : Math.max(0, at - 0.05 * (data.end_ps - at));
}

/* Zooms to where the burst begins, and says so. */
function beginAtBurst(parent, queue) {
	const at = burstBegin(queue);

	if (!at)
		return;
	const button = element("button", {type: "button"}, "Whole run");
	button.addEventListener("click", () => zoomTime(null));
	parent.after(element("p", {class: "dim", id: "begin"},
		`The plots begin at ${format("time", at)}, shortly before the bottleneck's queue begins to grow. `, button));
	zoomTime([at, data.end_ps]);
}

/* ---- the page ---- */

function build() {
	const parent = document.getElementById("plots"), first = element("div", {class: "figures"});
	const b = data.bottleneck, isFirst = (q) => b && q.switch === b.switch && q.priority === b.priority;
	const queue = data.queues.find(isFirst);

	parent.append(first);
	if (data.links_left_out || data.result.switches > MOST_SWITCHES)
		note(first, "The network is too large for a picture.");
	else
		addNetwork(first, data);
	if (queue)
		addQueue(first, queue);
	note(parent, "Point at a plot to see values. Drag across it to enlarge a part of the run. Double-click to show the whole run again. Click on a legend to hide or show a series.");
	addBusiest(parent, data);
	if (data.queues.length > (queue ? 1 : 0))
		addQueues(parent, data.queues.filter((q) => q !== queue));
	if (data.queues_left_out)
		note(parent, `The queues of ${data.queues_left_out} other switches and priorities never held more than ${format("bytes", data.queues_left_out_peak)}.`);
	addPauses(parent);
	addRates(parent);
	addTimes(parent);
	addCounters(parent);
	addParameters(document.getElementById("parameters"));
	for (const plot of plots) /* a plot was drawn before the next one took a part of its width */
		plot.graph.resize();
	beginAtBurst(first, queue);
}

build();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => plots.forEach((plot) => plot.draw()));
