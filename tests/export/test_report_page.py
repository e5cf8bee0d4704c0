"""The parts that pages of reports are made of."""

from gnomon.export._report_page import page, signed, table, tag


def test_hyphens_before_numbers_are_signs_and_zero_has_none():
    assert signed("by -0.50 points (-2.3 to -0.000)") == "by \u22120.50 points (\u22122.3 to 0.000)"
    assert signed("-0.10 (-0.20 to 0.05)") == "\u22120.10 (\u22120.20 to 0.05)"
    assert signed("1-NN, weight=1e-06, rows 3-7, -") == "1-NN, weight=1e-06, rows 3-7, -"
    assert signed("-0.004") == "\u22120.004"


def test_names_in_a_text_of_numbers_stay_as_they_are():
    said = "T -20 °C (log -3): worse by -1.5, than x at -20"
    assert signed(said, ["x", "T -20 °C (log -3)", "T -20 °C"]) == said.replace("by -1", "by \u22121").replace(
        "at -20", "at \u221220"
    )
    assert signed("-0.1, 1", ["1"]) == "\u22120.1, 1"


def test_signs_are_set_in_numbers_alone():
    made = table(["row", "-3"], [["7-8", "-1"]], numeric=[1])
    assert '<th class="n">-3</th>' in made
    assert "<td>7-8</td>" in made
    assert '<td class="n">\u22121</td>' in made
    assert tag("li", "T -1") == "<li>T -1</li>"
    assert tag("p", "by -1", "verdict") == '<p class="verdict">by -1</p>'


def test_each_heading_begins_a_section():
    made = page("t", ["<h1>t</h1>", "<h2>a</h2>x<h2>b</h2>y", "", "<h2>c</h2>z"]).partition("<body>")[2]
    body = made.partition("<script>")[0].replace("\n", "")
    assert body == (
        "<main><h1>t</h1><section><h2>a</h2>x</section><section><h2>b</h2>y</section>"
        "<section><h2>c</h2>z</section></main>"
    )
